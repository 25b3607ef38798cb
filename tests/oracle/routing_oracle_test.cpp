// The generator's presets against published imbalance.
//
// LAER-MoE trace (arXiv 2602.11686), static placement, mixtral-8x7b-e16k4: 32 GPUs, 24 layers, 30 iterations. Its 32
// columns are 8 copies of an EP group of 4 ranks with 4 experts each, pairs of them on the same data: the generator is
// drawn the same way. Bands are the published moments of the two models in the trace.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "sim/workload/loads.h"
#include "tests/support/routing_moments.h"

#define CHECK_WITHIN(value, lo, hi)                                                                                    \
  do {                                                                                                                 \
    CHECK((value) >= (lo));                                                                                            \
    CHECK((value) <= (hi));                                                                                            \
  } while (false)

using namespace tessella;
using namespace tessella::test;

namespace {

const WorkloadShape kLaer{24, 16, 4, 4, 16384, 30};

// [layer][iteration][column]: `groups` EP groups, each written `copies` times.
LoadCube generate(const RoutingSpec& spec, const WorkloadShape& shape, std::int64_t groups, int copies,
                  std::uint64_t seed) {
  LoadCube cube(static_cast<std::size_t>(shape.layers));
  const RoutingModel model(spec, shape, seed);
  StepRouting step = model.prepare(0);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(shape.ep));
  for (std::int64_t s = 0; s < shape.steps; ++s) {
    if (s > 0) step = model.next(step);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      std::vector<double> loads;
      for (std::int64_t group = 0; group < groups; ++group) {
        step.rank_loads(layer, 0, group, rows);
        for (int copy = 0; copy < copies; ++copy) loads.insert(loads.end(), rows.begin(), rows.end());
      }
      cube[static_cast<std::size_t>(layer)].push_back(std::move(loads));
    }
  }
  return cube;
}

// Mean over seeds of the moments of one preset.
RoutingMoments preset_moments(const std::string& preset, const WorkloadShape& shape, std::int64_t groups, int copies,
                              std::uint64_t seeds) {
  RoutingMoments sum;
  const auto weight = 1.0 / static_cast<double>(seeds);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RoutingMoments m = routing_moments(generate(*routing_preset(preset), shape, groups, copies, seed));
    sum.max_over_mean += weight * m.max_over_mean;
    sum.median_max_over_mean += weight * m.median_max_over_mean;
    sum.cv += weight * m.cv;
    sum.static_rms += weight * m.static_rms;
    sum.dynamic_rms += weight * m.dynamic_rms;
    sum.lag1 += weight * m.lag1;
    sum.lag2 += weight * m.lag2;
    sum.lag5 += weight * m.lag5;
    sum.persist += weight * m.persist;
  }
  return sum;
}

// The rows of the trace file for one method and model; empty when the file is not there.
std::vector<TraceRow> read_laer(const std::string& method, const std::string& model) {
  std::vector<TraceRow> rows;
  gzFile file = gzopen("../shared/data/laer_moe_token_trace_a100x32.csv.gz", "rb");
  if (file == nullptr) return rows;
  std::vector<char> line(256);
  while (gzgets(file, line.data(), static_cast<int>(line.size())) != nullptr) {
    std::istringstream fields(line.data());
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    if (f.size() != 6 || f[1] != method || f[2] != model) continue;
    rows.push_back({std::stoll(f[4]), std::stoll(f[3]), std::stoll(f[0]), std::stoll(f[5])});
  }
  gzclose(file);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.iteration < b.iteration; });
  return rows;
}

LoadCube cube_of(const RoutingTrace& trace) {
  LoadCube cube(static_cast<std::size_t>(trace.layers));
  for (std::int64_t i = 0; i < trace.iterations; ++i)
    for (std::int64_t l = 0; l < trace.layers; ++l) {
      const auto row = trace.row(i, l);
      cube[static_cast<std::size_t>(l)].emplace_back(row.begin(), row.end());
    }
  return cube;
}

} // namespace

TEST_CASE("skewed reproduces the moments of the LAER-MoE trace") {
  const RoutingMoments m = preset_moments("skewed", kLaer, 4, 2, 10);
  CHECK_WITHIN(m.max_over_mean, 1.66, 1.77); // 1.73 and 1.66
  CHECK_WITHIN(m.cv, 0.385, 0.47);           // 0.47 and 0.385
  CHECK_WITHIN(m.static_rms, 0.34, 0.42);    // 0.42 and 0.34
  CHECK_WITHIN(m.dynamic_rms, 0.22, 0.30);   // 0.30 and 0.22
  CHECK_WITHIN(m.lag1, 0.73, 0.86);          // 0.85 and 0.73
  CHECK_WITHIN(m.lag2, 0.71, 0.84);          // 0.84 and 0.71
  CHECK_WITHIN(m.lag5, 0.62, 0.76);          // 0.76 and 0.62
  CHECK_WITHIN(m.persist, 0.18, 0.24);       // 0.21 and 0.24
}

TEST_CASE("presets have the hottest rank they are documented with") {
  const WorkloadShape deepseek_v3{58, 256, 8, 64, 4096, 3};
  const WorkloadShape qwen3_235b{94, 128, 8, 64, 4096, 3};
  const WorkloadShape early{20, 32, 4, 8, 4096, 20};
  CHECK_WITHIN(routing_moments(generate(*routing_preset("balanced"), early, 1, 1, 1)).max_over_mean, 1.0, 1.0);
  CHECK_WITHIN(preset_moments("mild", deepseek_v3, 1, 1, 4).max_over_mean, 1.26, 1.34);   // measured 1.30
  CHECK_WITHIN(preset_moments("natural", qwen3_235b, 1, 1, 4).max_over_mean, 2.4, 2.7);   // measured 2.23 and 2.86
  CHECK_WITHIN(preset_moments("burst", early, 1, 1, 4).median_max_over_mean, 1.37, 1.44); // measured 1.41
  CHECK_WITHIN(preset_moments("burst", early, 1, 1, 4).lag1, -0.1, 0.3);                  // little memory
}

// Largest expert over the mean of a step's global batch, minus 1, mean over layers.
double violation(const RoutingSpec& spec, const WorkloadShape& shape) {
  const StepRouting step = RoutingModel(spec, shape, 7).prepare(0);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(shape.num_experts));
  double sum = 0.0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    std::vector<double> all(rows.size(), 0.0);
    for (std::int64_t mb = 0; mb < 400; ++mb) {
      step.expert_loads(layer, mb, 0, rows);
      for (std::size_t e = 0; e < rows.size(); ++e) all[e] += rows[e];
    }
    sum += *std::max_element(all.begin(), all.end()) / mean(all) - 1.0;
  }
  return sum / static_cast<double>(shape.layers);
}

TEST_CASE("a bias per expert leaves of the global batch's violation what was measured, and of micro-batches nothing") {
  const WorkloadShape shape{12, 64, 6, 8, 2048, 2};
  RoutingSpec spec = *routing_preset("natural");
  spec.static_sigma = 0.20; // so that the auxiliary loss leaves the measured 0.52 to 0.72
  spec.drift_sigma = 0.09;
  spec.balancing = Balancing::aux_loss;
  CHECK_WITHIN(violation(spec, shape), 0.52, 0.72);
  spec.balancing = Balancing::loss_free_bias;
  CHECK_WITHIN(violation(spec, shape), 0.03, 0.08); // measured 0.04; the noise of 400 micro-batches adds some
  const auto hottest = [&](Balancing b) {
    spec.balancing = b;
    return routing_moments(generate(spec, shape, 4, 1, 3)).max_over_mean;
  };
  CHECK(hottest(Balancing::loss_free_bias) > 1.05);
  CHECK(hottest(Balancing::global_batch) > hottest(Balancing::aux_loss)); // arXiv 2501.11873: 3 % of a step
  CHECK(hottest(Balancing::none) > hottest(Balancing::global_batch));
}

TEST_CASE("DeepSeek-V3 lies between its bias alone and the bias with a loss on micro-batches") {
  const WorkloadShape deepseek_v3{58, 256, 8, 64, 4096, 3};
  RoutingSpec spec = *routing_preset("natural");
  spec.balancing = Balancing::loss_free_bias;
  const double alone = routing_moments(generate(spec, deepseek_v3, 1, 1, 1)).max_over_mean;
  const RoutingSpreads left = spreads_of(spec);
  spec.balancing.reset();
  spec.static_sigma = left.experts;
  spec.drift_sigma = left.steps;
  const double with_loss = routing_moments(generate(spec, deepseek_v3, 1, 1, 1)).max_over_mean;
  CHECK(with_loss < 1.30); // measured, arXiv 2606.04101
  CHECK(alone > 1.30);
}

TEST_CASE("the trace itself: published moments, and an exact replay") {
  const std::vector<TraceRow> rows = read_laer("FSDP", "mixtral-8x7b-e16k4");
  if (rows.empty()) {
    MESSAGE("skipped: ../shared/data/laer_moe_token_trace_a100x32.csv.gz is not there");
    return;
  }
  const auto trace = std::get<RoutingTrace>(make_trace(rows));
  const RoutingMoments m = routing_moments(cube_of(trace));
  CHECK(m.max_over_mean == doctest::Approx(1.73).epsilon(0.005));
  CHECK(m.median_max_over_mean == doctest::Approx(1.67).epsilon(0.005));
  CHECK(m.cv == doctest::Approx(0.47).epsilon(0.01));
  CHECK(m.static_rms == doctest::Approx(0.42).epsilon(0.01));
  CHECK(m.dynamic_rms == doctest::Approx(0.30).epsilon(0.01));
  CHECK(m.lag1 == doctest::Approx(0.85).epsilon(0.01));
  CHECK(m.lag5 == doctest::Approx(0.76).epsilon(0.01));
  CHECK(m.persist == doctest::Approx(0.21).epsilon(0.01));

  RoutingSpec spec;
  spec.kind = RoutingKind::trace;
  spec.trace = trace;
  const WorkloadShape shape{24, 32, 4, 32, 16384, 30}; // the trace's total per layer and iteration
  const StepRouting step = RoutingModel(spec, shape, 1).prepare(17);
  std::vector<std::int32_t> out(32);
  step.rank_loads(11, 0, 0, out);
  const auto measured = trace.row(17, 11);
  CHECK(std::vector<std::int64_t>(out.begin(), out.end()) ==
        std::vector<std::int64_t>(measured.begin(), measured.end()));
}
