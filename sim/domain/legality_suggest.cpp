// Suggestions are tried on the rules themselves, so that a user who follows one is not refused again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

enum class Outcome { none, mends_the_rule, legal };

// The rule itself first: it is cheap and refuses most candidates.
Outcome try_out(const LegalityInput& trial, Rule rule) {
  Verdict one;
  Judge alone{trial, one, false};
  size_rules(alone);
  if (one.legal()) rule(alone);
  if (!one.legal()) return Outcome::none;
  Verdict whole;
  Judge all{trial, whole, false};
  judge_all(all);
  return whole.legal() ? Outcome::legal : Outcome::mends_the_rule;
}

Outcome try_parallelism(const LegalityInput& in, const Parallelism& p, Rule rule) {
  const bool etp_follows_tp = in.etp_was_defaulted && p.etp == p.tp;
  const LegalityInput trial{
      in.model, p, in.batch, in.layout, in.schedule, in.recompute, in.cluster_gpus, etp_follows_tp, in.dispatcher};
  return try_out(trial, rule);
}

// Nearest by ratio; of two equally near ones the smaller, which needs fewer GPUs.
std::vector<std::int64_t> by_nearness(std::vector<std::int64_t> candidates, std::int64_t current) {
  std::sort(candidates.begin(), candidates.end());
  const auto distance = [&](std::int64_t c) {
    return std::abs(std::log(static_cast<double>(c) / static_cast<double>(current)));
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
  std::erase(candidates, current);
  return candidates;
}

} // namespace

std::string nearest_plan(const Judge& judge, const std::vector<Knob>& knobs, Rule rule) {
  if (!judge.suggest) return {};
  std::string second_best;
  for (const Knob& knob : knobs) {
    const std::int64_t current = judge.in.parallelism.*knob.size;
    for (const std::int64_t candidate : by_nearness(knob.candidates, current)) {
      Parallelism p = judge.in.parallelism;
      p.*knob.size = candidate;
      if (judge.in.etp_was_defaulted && knob.size == &Parallelism::tp) p.etp = candidate;
      const Outcome outcome = try_parallelism(judge.in, p, rule);
      if (outcome == Outcome::none) continue;
      std::string text = fmt::format("{}: {}", knob.key, candidate);
      if (outcome == Outcome::legal) return text;
      if (second_best.empty()) second_best = std::move(text);
    }
  }
  return second_best;
}

std::string nearest_batch(const Judge& judge, const std::vector<std::int64_t>& candidates, Rule rule) {
  if (!judge.suggest) return {};
  std::string second_best;
  for (const std::int64_t candidate : by_nearness(candidates, judge.in.batch.global_batch_size)) {
    Batch batch = judge.in.batch;
    batch.global_batch_size = candidate;
    const LegalityInput& in = judge.in;
    const LegalityInput trial{in.model,        in.parallelism,       batch,        in.layout, in.schedule, in.recompute,
                              in.cluster_gpus, in.etp_was_defaulted, in.dispatcher};
    const Outcome outcome = try_out(trial, rule);
    std::string text = fmt::format("global_batch_size: {}", candidate);
    if (outcome == Outcome::legal) return text;
    if (outcome == Outcome::mends_the_rule && second_best.empty()) second_best = std::move(text);
  }
  return second_best;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  constexpr std::int64_t kMaxSmallDivisor = 100'000;
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  for (std::int64_t d = 1; d <= n / d && d <= kMaxSmallDivisor; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d != n / d) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

} // namespace tessella
