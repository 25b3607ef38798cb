#include "sim/domain/kernel_forms.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace tessella {

double required_param(const ProfileEntry& entry, const std::string& key) {
  if (const auto value = entry.param(key)) return *value;
  throw NotCovered({fmt::format("{}{}{}{}{} (form {}): parameter `{}`", entry.op, entry.dtype.empty() ? "" : " ",
                                entry.dtype, entry.tier.empty() ? "" : " ", entry.tier, entry.form, key)});
}

double constant_seconds(const ProfileEntry& entry) {
  return required_param(entry, "seconds");
}

double factor_value(const ProfileEntry& entry) {
  return required_param(entry, "factor");
}

double stream_seconds(const ProfileEntry& entry, double bytes) {
  return required_param(entry, "launch") + bytes / required_param(entry, "bandwidth");
}

UniformStage uniform_stage(const ProfileEntry& entry) {
  UniformStage u;
  u.forward = required_param(entry, "forward");
  u.backward = required_param(entry, "backward");
  u.input_grad = entry.param("input_grad").value_or(0.0);
  u.weight_grad = entry.param("weight_grad").value_or(0.0);
  u.message = entry.param("message").value_or(0.0);
  return u;
}

Spread spread_of(const ProfileEntry& entry) {
  return {required_param(entry, "low"), required_param(entry, "high")};
}

ContentionFactors contention_factors(const ProfileEntry& entry) {
  return {required_param(entry, "gemm"), required_param(entry, "membound"), required_param(entry, "norm"),
          required_param(entry, "waiting"), required_param(entry, "communication")};
}

} // namespace tessella
