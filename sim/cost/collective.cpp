#include "sim/cost/collective.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

constexpr const char* kNode = "node";
constexpr const char* kFabric = "fabric";
constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_to_all, Collective::send_recv};

std::string missing_row(const std::string& op, const char* tier) {
  return fmt::format("{} (form collective, tier {})", op, tier);
}

// The plain collective that stands in for a dispatcher's own entry; empty when there is none.
std::string stand_in(Dispatcher d, bool is_combine) {
  if (d == Dispatcher::alltoall) return name(Collective::all_to_all);
  if (d == Dispatcher::allgather) return name(is_combine ? Collective::reduce_scatter : Collective::all_gather);
  return {};
}

std::string expert_op(Dispatcher d, bool is_combine) {
  return fmt::format("{}_{}", is_combine ? "combine" : "dispatch", name(d));
}

const ProfileEntry* find_entry(const Profile& profile, const std::string& op, const std::string& other,
                               const char* tier) {
  const ProfileEntry* entry = profile.find(op, "", tier);
  if (entry == nullptr && !other.empty()) entry = profile.find(other, "", tier);
  return entry;
}

double leg_seconds(const Leg& leg, const ProfileEntry* entry) {
  if (entry == nullptr) return leg.seconds();
  // A collective of nothing still synchronises: at least one byte keeps the form's latency.
  const double measured = collective_seconds(*entry, leg.ranks, std::max(1.0, leg.bytes), leg.link);
  return std::max(leg.seconds(), measured + leg.detour);
}

} // namespace

CollectiveModel::CollectiveModel(const Cluster& cluster) : cluster_(&cluster) {}

CollectiveModel::CollectiveModel(const Cluster& cluster, const Profile& profile)
    : cluster_(&cluster), profile_(&profile) {
  if (cluster.fabric.kind == FabricKind::ideal) return;
  std::vector<std::string> missing;
  for (const Collective c : kAll) {
    if (cluster.node.gpus > 1 && profile.find(name(c), "", kNode) == nullptr)
      missing.push_back(missing_row(name(c), kNode));
    if (cluster.nodes > 1 && profile.find(name(c), "", kFabric) == nullptr)
      missing.push_back(missing_row(name(c), kFabric));
  }
  if (!missing.empty()) throw NotCovered(std::move(missing));
}

double CollectiveModel::seconds(const Legs& legs, const std::string& op, const std::string& other) const {
  double slowest = 0.0;
  std::vector<std::string> missing;
  const auto add = [&](const std::optional<Leg>& leg, const char* tier) {
    if (!leg) return;
    const ProfileEntry* entry = profile_ == nullptr ? nullptr : find_entry(*profile_, op, other, tier);
    if (profile_ != nullptr && entry == nullptr)
      missing.push_back(missing_row(op, tier));
    else
      slowest = std::max(slowest, leg_seconds(*leg, entry));
  };
  add(legs.node, kNode);
  add(legs.fabric, kFabric);
  if (!missing.empty()) throw NotCovered(std::move(missing));
  return slowest;
}

Duration CollectiveModel::time(Collective c, const GroupSpan& span, Bytes size) const {
  return round_to_picoseconds(
      seconds(collective_legs(*cluster_, c, span, static_cast<double>(size.count)), name(c), ""));
}

Duration CollectiveModel::expert_time(Dispatcher d, bool is_combine, const GroupSpan& span,
                                      const ExpertTraffic& traffic, std::int64_t tokens) const {
  return round_to_picoseconds(seconds(expert_legs(*cluster_, d, is_combine, span, traffic, tokens),
                                      expert_op(d, is_combine), stand_in(d, is_combine)));
}

Duration CollectiveModel::halo_time(const GroupSpan& span, Bytes size) const {
  const HaloLegs legs = halo_legs(*cluster_, span, static_cast<double>(size.count));
  const std::string op = name(Collective::all_to_all);
  return round_to_picoseconds(seconds({legs.local, legs.remote}, op, "") +
                              seconds({legs.redistribute, std::nullopt}, op, ""));
}

std::int64_t CollectiveModel::expert_sms(Dispatcher d) const {
  if (profile_ == nullptr) return 0;
  for (const char* tier : {kFabric, kNode}) {
    const ProfileEntry* entry = find_entry(*profile_, expert_op(d, false), stand_in(d, false), tier);
    const std::optional<double> sms = entry == nullptr ? std::nullopt : entry->param("sms");
    if (sms) return static_cast<std::int64_t>(*sms);
  }
  return 0;
}

Provenance CollectiveModel::provenance(Collective c, const GroupSpan& span) const {
  if (profile_ == nullptr) return Provenance::derived;
  const ProfileEntry* entry = profile_->find(name(c), "", span.nodes > 1 ? kFabric : kNode);
  return entry == nullptr ? Provenance::derived : entry->provenance;
}

Provenance CollectiveModel::expert_provenance(Dispatcher d, const GroupSpan& span) const {
  if (profile_ == nullptr) return Provenance::derived;
  const ProfileEntry* entry =
      find_entry(*profile_, expert_op(d, false), stand_in(d, false), span.nodes > 1 ? kFabric : kNode);
  return entry == nullptr ? Provenance::derived : entry->provenance;
}

} // namespace tessella
