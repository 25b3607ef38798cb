#include "sim/cost/contention.h"

#include <algorithm>

#include "sim/base/check.h"

namespace tessella {
namespace {

// Resident blocks per SM of a norm kernel's grid: rows of 2k to 16k elements take half an SM's registers.
constexpr std::int64_t kNormBlocksPerSm = 2;

double share_limited_by_hbm(double demand, double capacity) {
  return capacity > 0.0 ? std::clamp(demand / capacity, 0.0, 1.0) : 0.0;
}

} // namespace

double sm_waves_factor(std::int64_t tiles, std::int64_t sms, std::int64_t held) {
  TSL_CHECK_OP(held, >=, 0);
  TSL_CHECK_OP(held, <, sms);
  if (tiles <= 0) return 1.0;
  const auto waves = [tiles](std::int64_t n) { return (tiles + n - 1) / n; };
  return static_cast<double>(waves(sms - held)) / static_cast<double>(waves(sms));
}

double sm_persistent_factor(std::int64_t sms, std::int64_t held) {
  TSL_CHECK_OP(held, >=, 0);
  TSL_CHECK_OP(held, <, sms);
  return static_cast<double>(sms) / static_cast<double>(sms - held);
}

double hbm_factor(double demand, double neighbour, double capacity) {
  if (demand <= 0.0 || neighbour <= 0.0 || capacity <= 0.0) return 1.0;
  return std::max(1.0, (demand + neighbour) / capacity);
}

double link_rate_share(std::int64_t sms, std::int64_t saturating_sms) {
  if (saturating_sms <= 0) return 1.0;
  return std::min(1.0, static_cast<double>(sms) / static_cast<double>(saturating_sms));
}

Contention ContentionModel::tensor(double sm_factor, double demand) const {
  const double memory = measured ? measured->gemm : hbm_factor(demand, neighbour.hbm_rate, hbm_capacity);
  return {sm_factor, sm_factor * memory};
}

Contention ContentionModel::streaming(double demand) const {
  if (measured) return {measured->waiting, std::max(measured->waiting, measured->membound)};
  const double hbm = share_limited_by_hbm(demand, hbm_capacity);
  const double by_sms = neighbour.sms_held > 0 ? sm_persistent_factor(sms, neighbour.sms_held) : 1.0;
  const double waiting = hbm + (1.0 - hbm) * by_sms;
  return {waiting, waiting * hbm_factor(demand, neighbour.hbm_rate, hbm_capacity)};
}

Contention ContentionModel::norm(double demand) const {
  Contention c = streaming(demand);
  if (measured) return {c.waiting, std::max(c.waiting, measured->norm)};
  if (neighbour.sms_held == 0) return c;
  const double waves = sm_waves_factor(kNormBlocksPerSm * sms, sms, neighbour.sms_held);
  c.moving = std::max(c.moving, waves * hbm_factor(demand, neighbour.hbm_rate, hbm_capacity));
  return c;
}

} // namespace tessella
