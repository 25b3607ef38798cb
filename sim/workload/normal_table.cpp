#include "sim/workload/normal_table.h"

#include "sim/base/rng.h"

namespace tessella {
namespace {

// |z| of upper tail probability p = (x + 1/2) / 2^32, x in [0, 2^31).
double magnitude(double x) {
  return -inverse_normal_cdf((x + 0.5) * 0x1.0p-32);
}

} // namespace

NormalTable::NormalTable() {
  constexpr double width = 0x1.0p21;
  for (std::uint32_t i = 0; i < kCells; ++i) {
    const double begin = magnitude(i * width);
    const double end = magnitude((i + 1) * width - 1.0);
    cells_[i].base = static_cast<float>(begin);
    cells_[i].slope = static_cast<float>((end - begin) / (width - 1.0));
  }
}

float NormalTable::exact(std::uint32_t bits) {
  const double z = magnitude(bits & 0x7fffffffU);
  return static_cast<float>((bits & 0x80000000U) != 0 ? -z : z);
}

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

} // namespace tessella
