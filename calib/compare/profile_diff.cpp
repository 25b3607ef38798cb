#include "calib/compare/profile_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

// A form at one shape; the text names it.
struct Probe {
  const char* form;
  const char* shape;
  std::function<double(const ProfileEntry&)> seconds;
};

std::vector<std::int64_t> even(std::int64_t experts, std::int64_t each) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(experts), each);
}

double attention(const ProfileEntry& e, std::int64_t seq) {
  AttentionShape s;
  s.seq_q = s.seq_kv = seq;
  s.heads = 64;
  s.kv_heads = 8;
  s.qk_head_dim = s.v_head_dim = 128;
  return attention_seconds(e, s);
}

double gdn(const ProfileEntry& e, std::int64_t seq) {
  return gdn_seconds(e, {1, seq, 16, 32, 128, 128});
}

double ssd(const ProfileEntry& e, std::int64_t seq) {
  return ssd_seconds(e, {1, seq, 128, 64, 8, 128, 128});
}

const std::vector<Probe>& probes() {
  static const std::vector<Probe> table = {
      {"gemm_tiles", "1024 x 4096 x 4096",
       [](const auto& e) {
         return gemm_seconds(e, {1024, 4096, 4096});
       }},
      {"gemm_tiles", "8192 x 8192 x 8192",
       [](const auto& e) {
         return gemm_seconds(e, {8192, 8192, 8192});
       }},
      {"grouped_gemm_tiles", "16 experts of 128 x 3072 x 4096",
       [](const auto& e) {
         return grouped_gemm_seconds(e, even(16, 128), {0, 3072, 4096});
       }},
      {"grouped_gemm_tiles", "16 experts of 2048 x 3072 x 4096",
       [](const auto& e) {
         return grouped_gemm_seconds(e, even(16, 2048), {0, 3072, 4096});
       }},
      {"attention_rate", "64 heads of 128, 1,024 tokens", [](const auto& e) { return attention(e, 1024); }},
      {"attention_rate", "64 heads of 128, 8,192 tokens", [](const auto& e) { return attention(e, 8192); }},
      {"gdn_rate", "32 heads of 128, 4,096 tokens", [](const auto& e) { return gdn(e, 4096); }},
      {"ssd_rate", "128 heads of 64, state 128, 4,096 tokens", [](const auto& e) { return ssd(e, 4096); }},
      {"stream", "1 MB", [](const auto& e) { return stream_seconds(e, 1e6); }},
      {"stream", "256 MB", [](const auto& e) { return stream_seconds(e, 256e6); }},
      {"collective", "8 ranks, 64 kB on 50 GB/s",
       [](const auto& e) { return collective_seconds(e, 8, 64e3, Bandwidth{50e9}); }},
      {"collective", "8 ranks, 256 MB on 50 GB/s",
       [](const auto& e) { return collective_seconds(e, 8, 256e6, Bandwidth{50e9}); }},
      {"constant", "", [](const auto& e) { return constant_seconds(e); }},
      {"factor", "", [](const auto& e) { return factor_value(e); }},
      {"uniform_stage", "forward", [](const auto& e) { return uniform_stage(e).forward; }},
      {"uniform_stage", "backward", [](const auto& e) { return uniform_stage(e).backward; }},
      {"contention", "gemm", [](const auto& e) { return contention_factors(e).gemm; }},
      {"contention", "membound", [](const auto& e) { return contention_factors(e).membound; }},
      {"contention", "norm", [](const auto& e) { return contention_factors(e).norm; }},
  };
  return table;
}

std::string entry_name(const ProfileEntry& e) {
  std::string text = e.op;
  for (const std::string& part : {e.dtype, e.tier})
    if (!part.empty()) text += fmt::format(" {}", part);
  return text;
}

const ProfileEntry* same_row(const Profile& p, const ProfileEntry& e) {
  for (const ProfileEntry& other : p.entries)
    if (other.op == e.op && other.dtype == e.dtype && other.tier == e.tier) return &other;
  return nullptr;
}

// A parameter that one of them lacks: nothing to compare at that shape.
std::optional<double> evaluate(const Probe& probe, const ProfileEntry& e) {
  try {
    return probe.seconds(e);
  } catch (const NotCovered&) {
    return std::nullopt;
  }
}

void compare_entries(const ProfileEntry& a, const ProfileEntry& b, double floor, ProfileDiff& diff) {
  if (a.form != b.form) {
    diff.entries.push_back({entry_name(a), fmt::format("form {} became {}", a.form, b.form), 0, 0, 0, 0, true});
    return;
  }
  // Independent errors of two fits add up as squares.
  const double noise =
      std::max(floor, std::hypot(a.residual ? a.residual->median : 0.0, b.residual ? b.residual->median : 0.0));
  for (const Probe& probe : probes()) {
    if (a.form != probe.form) continue;
    const auto before = evaluate(probe, a);
    const auto after = evaluate(probe, b);
    if (!before || !after || *before == *after || *before <= 0.0) continue;
    const double change = *after / *before - 1.0;
    diff.entries.push_back({entry_name(a), probe.shape, *before, *after, change, noise, std::abs(change) > noise});
  }
}

} // namespace

ProfileDiff diff_profiles(const Profile& before, const Profile& after, double floor) {
  ProfileDiff diff;
  if (before.gpu.name != after.gpu.name)
    diff.warnings.push_back(fmt::format("profiles of different GPUs: {} and {}", before.gpu.name, after.gpu.name));
  for (const ProfileEntry& a : before.entries) {
    if (const ProfileEntry* b = same_row(after, a))
      compare_entries(a, *b, floor, diff);
    else
      diff.entries.push_back({entry_name(a), "only in the first", 0, 0, 0, 0, true});
  }
  for (const ProfileEntry& b : after.entries)
    if (same_row(before, b) == nullptr) diff.entries.push_back({entry_name(b), "only in the second", 0, 0, 0, 0, true});
  return diff;
}

std::string to_text(const ProfileDiff& d) {
  std::string text;
  for (const std::string& warning : d.warnings) text += fmt::format("warning: {}\n", warning);
  std::int64_t moved = 0;
  for (const EntryDiff& e : d.entries) {
    if (!e.beyond_noise) continue;
    ++moved;
    if (e.before > 0.0)
      text += fmt::format("{:<28} {:<34} {:>12.3f} us -> {:>12.3f} us  {:>+7.1f} %  (noise {:.1f} %)\n", e.entry,
                          e.what, 1e6 * e.before, 1e6 * e.after, 100.0 * e.change, 100.0 * e.noise);
    else
      text += fmt::format("{:<28} {}\n", e.entry, e.what);
  }
  text += fmt::format("{} of {} differences are beyond noise\n", moved, d.entries.size());
  return text;
}

} // namespace tessella::calib
