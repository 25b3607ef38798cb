// Which rows make which entry, and how many parameters they determine.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "calib/measured/fit_run.h"
#include "calib/measured/row_problem.h"
#include "calib/protocol/statistics.h"
#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

using Key = std::pair<std::string, std::string>; // op, dtype
using Rows = std::map<Key, std::vector<const RawRow*>>;

constexpr std::int64_t kGpusOfANode = 8; // of all GPUs in the table

bool is_collective(const OpShape& s) {
  return s.ranks > 1;
}

// Whether a profile has an entry for each element type.
bool has_dtype(const std::string& op) {
  return op.find("gemm") != std::string::npos || op.starts_with("attention");
}

// In the order in which data determine them.
std::vector<std::string> free_parameters(const std::string& form) {
  if (form == "stream") return {"bandwidth", "launch"};
  if (form == "attention_rate") return {"peak", "kv_half", "dim_half"};
  if (form == "collective") return {"efficiency", "latency", "half_size", "latency_per_rank"};
  return {"peak", "hbm", "k_half", "launch"};
}

class GpuFit {
 public:
  GpuFit(const Profile& base, std::string mark) : base_(base), mark_(std::move(mark)) {
    for (const GpuSource& g : gpu_table())
      if (g.spec.name == base.gpu.name) link_ = g.scale_up;
  }

  RunFit run(const std::vector<RawRow>& rows) {
    const Rows sorted = sort_out(rows);
    for (const auto& [key, list] : sorted) fit_one(key, list);
    fit_contention(rows);
    if (out_.results.empty()) throw InputError("raw.csv", "holds no successful row of an op that profiles have");
    out_.profile = base_;
    for (ProfileEntry& e : out_.profile.entries) replace(e);
    return std::move(out_);
  }

 private:
  void drop(const std::string& op, const std::string& why) { count_dropped(out_.dropped, op, why); }

  Rows sort_out(const std::vector<RawRow>& rows) {
    Rows sorted;
    for (const RawRow& row : rows) {
      const OpShape& s = row.shape;
      const bool hot = row.measurement.temperature == Temperature::hot;
      if (s.op == "overlap") continue;
      if (row.status != RowStatus::ok)
        drop(s.op, name(row.status));
      else if (s.op == "memcpy" || s.kernel == "best")
        drop(s.op + " " + s.kernel, "a ceiling to compare with, no op of a step");
      else if (s.op.starts_with("attention") && s.kernel != "cudnn")
        drop(s.op, "no fused kernel: the base's entry stays");
      else if (is_collective(s) && !(row.work.bytes > 0.0))
        drop(s.op, "the row does not say how much was sent");
      else if (s.ranks > kGpusOfANode)
        drop(s.op, "more ranks than a node has: the fabric is not part of the record");
      else if (hot != is_collective(s))
        drop(s.op, "hot caches: an upper bound");
      else
        sorted[{s.op, has_dtype(s.op) ? s.dtype : ""}].push_back(&row);
    }
    return sorted;
  }

  void fit_one(const Key& key, const std::vector<const RawRow*>& rows) {
    const ProfileEntry* start = base_.find(key.first, key.second, is_collective(rows.front()->shape) ? "node" : "");
    if (start == nullptr) {
      for (std::size_t i = 0; i < rows.size(); ++i) drop(key.first, "the base has no entry of this op");
      return;
    }
    FitProblem p = row_problem(rows, *start, link_);
    std::vector<std::string> order = free_parameters(start->form);
    std::erase_if(order, [start](const std::string& n) { return start->param(n).value_or(0.0) <= 0.0; });
    for (std::size_t n = order.size(); n > 0; --n) {
      p.free.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
      try {
        add(fit(p), rows.size(), p.free);
        return;
      } catch (const InputError&) { // too few rows for so many parameters
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) drop(key.first, "too few shapes to fit even one parameter");
  }

  void add(FitResult result, std::size_t rows, const std::vector<std::string>& free) {
    std::string names;
    for (const std::string& f : free) names += (names.empty() ? "" : ", ") + f;
    result.entry.provenance = Provenance::measured;
    result.entry.source = fmt::format("{} rows; fitted: {}, the rest as in {}{}", rows, names, base_.name, mark_);
    result.own_gpu = true;
    out_.results.push_back(std::move(result));
  }

  void replace(ProfileEntry& e) const {
    for (const FitResult& r : out_.results)
      if (r.entry.op == e.op && r.entry.dtype == e.dtype && r.entry.tier == e.tier) e = r.entry;
  }

  // Time beside the stand-in over time alone, beyond what the SMs that it holds explain; the median over the matrix.
  struct Factors {
    std::vector<double> moving;
    std::vector<double> waiting;
  };
  Factors factors_of(const std::vector<RawRow>& rows, const std::string& kernel) const {
    std::optional<double> alone;
    for (const RawRow& r : rows)
      if (is_overlap(r, kernel) && r.shape.dim("sms") == 0) alone = r.measurement.summary.median;
    Factors f;
    const ProfileEntry* gemm = base_.find("gemm", "bf16");
    for (const RawRow& r : rows) {
      if (!alone || !is_overlap(r, kernel) || r.shape.dim("sms") == 0) continue;
      double expected = *alone;
      if (kernel == "gemm" && gemm != nullptr) {
        const GemmShape s{r.shape.dim("m"), r.shape.dim("n"), r.shape.dim("k"), 2.0, 2.0};
        expected *= gemm_seconds(*gemm, s, base_.gpu.sms - r.shape.dim("sms")) / gemm_seconds(*gemm, s);
      }
      const double factor = std::max(1.0, r.measurement.summary.median / expected);
      (r.shape.dim("gbps") > 0 ? f.moving : f.waiting).push_back(factor);
    }
    return f;
  }
  static bool is_overlap(const RawRow& r, const std::string& kernel) {
    return r.shape.op == "overlap" && r.shape.kernel == kernel && r.status == RowStatus::ok &&
           r.measurement.temperature == Temperature::cold;
  }

  void fit_contention(const std::vector<RawRow>& rows) {
    const ProfileEntry* start = base_.find("contention");
    if (start == nullptr) return;
    ProfileEntry e = *start;
    std::size_t used = 0;
    const auto set = [&](const char* parameter, const std::vector<double>& factors) {
      used += factors.size();
      for (auto& [name, value] : e.params)
        if (name == parameter && !factors.empty()) value = median(factors);
    };
    const Factors norm = factors_of(rows, "norm_fwd");
    set("gemm", factors_of(rows, "gemm").moving);
    set("membound", factors_of(rows, "copy").moving);
    set("norm", norm.moving);
    set("waiting", norm.waiting);
    if (used == 0) return;
    e.provenance = Provenance::measured;
    e.source = fmt::format("medians over {} pairs of a kernel and a stand-in that holds SMs and streams; "
                           "communication's own factor as in {}{}",
                           used, base_.name, mark_);
    out_.results.push_back({e, e, {}, true});
  }

  const Profile& base_;
  std::string mark_;
  Bandwidth link_{450e9};
  RunFit out_;
};

} // namespace

void count_dropped(std::vector<Dropped>& dropped, const std::string& op, const std::string& why) {
  for (Dropped& d : dropped) {
    if (d.op != op || d.why != why) continue;
    ++d.rows;
    return;
  }
  dropped.push_back({op, why, 1});
}

RunFit fit_gpu_rows(const std::vector<RawRow>& rows, const Profile& base, const std::string& mark) {
  return GpuFit(base, mark).run(rows);
}

} // namespace tessella::calib
