#include "sim/cost/step_costs.h"

#include <algorithm>
#include <array>

#include "sim/base/error.h"
#include "sim/cost/comm_costs.h"
#include "sim/cost/kernel_costs.h"
#include "sim/cost/whole_pass.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

constexpr double kGradBytes = 4.0;
constexpr double kParamBytes = 2.0;
// Per parameter: the norm reads the fp32 gradient; Adam reads gradient, master weight and two moments, writes the last
// three and the bf16 parameter.
constexpr double kAdamBytes = 4.0 + 16.0 + 12.0 + 2.0;
constexpr double kStateBytes = 12.0; // master weight and two moments

// As one rank holds them.
struct Params {
  std::int64_t dense;
  std::int64_t experts;
};

std::int64_t shards(const Scenario& s, GroupKind group) {
  const Parallelism& p = s.parallelism;
  return group == GroupKind::edp ? p.edp() : p.dp() * p.cp;
}

std::int64_t bucket_count(const Scenario& s, GroupKind group, std::int64_t params) {
  const std::int64_t bucket = std::max<std::int64_t>(40'000'000, 1'000'000 * shards(s, group));
  return (params + bucket - 1) / bucket;
}

// The buckets of one group's parameters, one after another.
OpDetail buckets(const Scenario& s, CommCosts& comm, Collective c, GroupKind group, double bytes_per_param,
                 std::int64_t params, bool overlapped) {
  const std::int64_t count = overlapped ? std::max<std::int64_t>(1, bucket_count(s, group, params)) : 1;
  OpDetail d;
  if (params == 0) return d;
  d = comm.collective("", c, group, bytes_per_param * static_cast<double>(params) / static_cast<double>(count));
  d.duration = d.duration * count;
  d.bytes *= static_cast<double>(count);
  return d;
}

OpDetail sum(const char* name, const OpDetail& a, const OpDetail& b) {
  OpDetail d = a.duration >= b.duration ? a : b; // entry and provenance of the longer
  d.name = name;
  d.duration = a.duration + b.duration;
  d.bytes = a.bytes + b.bytes;
  return d;
}

OpDetail grad_reduce_of(const Scenario& s, CommCosts& comm, const Params& p) {
  if (shards_params(s.profile)) return sum("grad_reduce", {}, {}); // layer by layer in every pass
  const Collective c = s.optimizer.distributed ? Collective::reduce_scatter : Collective::all_reduce;
  const bool overlapped = s.optimizer.overlap_grad_reduce;
  return sum("grad_reduce", buckets(s, comm, c, GroupKind::dp_cp, kGradBytes, p.dense, overlapped),
             buckets(s, comm, c, GroupKind::edp, kGradBytes, p.experts, overlapped));
}

OpDetail param_gather_of(const Scenario& s, CommCosts& comm, const Params& p) {
  if (!s.optimizer.distributed || shards_params(s.profile)) return sum("param_gather", {}, {});
  const bool overlapped = s.optimizer.overlap_param_gather;
  return sum("param_gather",
             buckets(s, comm, Collective::all_gather, GroupKind::dp_cp, kParamBytes, p.dense, overlapped),
             buckets(s, comm, Collective::all_gather, GroupKind::edp, kParamBytes, p.experts, overlapped));
}

// Parameters whose optimizer state a rank holds.
double optimizer_share(const Scenario& s, const Params& p) {
  const auto share = [&s](std::int64_t params, GroupKind group) {
    return static_cast<double>(params) / (s.optimizer.distributed ? static_cast<double>(shards(s, group)) : 1.0);
  };
  return share(p.dense, GroupKind::dp_cp) + share(p.experts, GroupKind::edp);
}

OpDetail optimizer_of(const Scenario& s, KernelCosts& kernels, const Params& p) {
  return kernels.stream("optimizer", StreamKernel::optimizer, kAdamBytes * optimizer_share(s, p));
}

OpDetail embedding_of(const Scenario& s, CommCosts& comm) {
  const Parallelism& p = s.parallelism;
  OpDetail d;
  d.name = "embedding_grad_reduce";
  if (!s.model.tie_embeddings || p.pp == 1) return d;
  const std::array ends = {Rank(0), Rank(static_cast<std::int32_t>(p.world_size / p.pp * (p.pp - 1)))};
  const double size =
      kGradBytes * static_cast<double>(s.model.vocab_size / p.tp) * static_cast<double>(s.model.hidden_size);
  return comm.collective(d.name, Collective::all_reduce, span_of_ranks(s.cluster, ends), size);
}

void require(const std::set<std::string>& missing) {
  if (!missing.empty()) throw NotCovered({missing.begin(), missing.end()});
}

template <class Cost>
OpDetail comm_cost(const Scenario& s, Cost cost) {
  CommCosts comm(s);
  OpDetail d = cost(comm);
  require(comm.missing());
  return d;
}

} // namespace

OpDetail grad_reduce(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  return comm_cost(s, [&](CommCosts& comm) { return grad_reduce_of(s, comm, {dense_params, expert_params}); });
}

std::int64_t overlap_buckets(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  return std::max<std::int64_t>(1, bucket_count(s, GroupKind::dp_cp, dense_params) +
                                       bucket_count(s, GroupKind::edp, expert_params));
}

OpDetail param_gather(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  return comm_cost(s, [&](CommCosts& comm) { return param_gather_of(s, comm, {dense_params, expert_params}); });
}

namespace {

template <class Cost>
OpDetail kernel_cost(const Scenario& s, Cost cost) {
  ContentionModel alone;
  alone.hbm_capacity = streaming_bandwidth(s.profile);
  KernelCosts kernels(s.profile, s.precision, alone);
  OpDetail d = cost(kernels);
  require(kernels.missing());
  return d;
}

} // namespace

OpDetail optimizer_step(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  return kernel_cost(s, [&](KernelCosts& kernels) { return optimizer_of(s, kernels, {dense_params, expert_params}); });
}

OpDetail state_transfer(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  const ProfileEntry* link = s.profile.find("host_link");
  if (link == nullptr) throw NotCovered({"host_link"});
  OpDetail d;
  d.name = "state_transfer";
  d.entry = row_name(link->op, link->dtype, link->tier);
  d.provenance = link->provenance;
  d.bytes = kStateBytes * optimizer_share(s, {dense_params, expert_params});
  d.duration = round_to_picoseconds(stream_seconds(*link, d.bytes));
  return d;
}

OpDetail checkpoint_hash(const Scenario& s, std::int64_t dense_params, std::int64_t expert_params) {
  const double bytes = kParamBytes * static_cast<double>(dense_params + expert_params) +
                       kStateBytes * optimizer_share(s, {dense_params, expert_params});
  return kernel_cost(
      s, [&](KernelCosts& kernels) { return kernels.stream("checkpoint_hash", StreamKernel::copy, bytes); });
}

OpDetail embedding_grad_reduce(const Scenario& s) {
  return comm_cost(s, [&](CommCosts& comm) { return embedding_of(s, comm); });
}

void note_step_costs(const Scenario& s, KernelCosts& kernels, CommCosts& comm) {
  const Params some{1, 1};
  grad_reduce_of(s, comm, some);
  param_gather_of(s, comm, some);
  optimizer_of(s, kernels, some);
  embedding_of(s, comm);
}

} // namespace tessella
