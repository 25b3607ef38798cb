#include "sim/domain/preset_row.h"

namespace tessella {

double PresetRow::gap() const {
  return lower_bound.ps == 0 ? 0.0
                             : static_cast<double>((step_time - lower_bound).ps) / static_cast<double>(lower_bound.ps);
}

} // namespace tessella
