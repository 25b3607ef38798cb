#include "calib/loop/recorder.h"

#include <array>

namespace tessella::calib {

const char* name(LoopLane lane) {
  constexpr std::array names = {"compute", "ep", "p2p", "dp"};
  return names[static_cast<std::size_t>(lane)];
}

} // namespace tessella::calib
