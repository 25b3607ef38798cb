#include "sim/domain/plan_file.h"

#include <fmt/format.h>

namespace tessella {

double PlanCertificate::gap(Duration step) const {
  return lower_bound.ps == 0 ? 0.0 : static_cast<double>((step - lower_bound).ps) / static_cast<double>(lower_bound.ps);
}

std::string PlanCertificate::statement(Duration step) const {
  const double g = gap(step);
  return g <= 1e-9 ? "optimal" : fmt::format("within {:.1f} % of optimal", 100.0 * g);
}

} // namespace tessella
