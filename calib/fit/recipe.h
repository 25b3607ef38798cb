// A recipe turns one family of raw tables into profile entries. Recipes run in a fixed order, because later ones reuse
// what earlier ones found (a launch time, a stream rate).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "calib/fit/csv.h"
#include "calib/fit/least_squares.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {

// A GPU the raw tables know.
struct GpuSource {
  GpuSpec spec;
  std::string table_name;   // in the kernel tables
  std::string compute_note; // "" or why another GPU's kernel tables hold for this one
  std::string nccl_name;    // in the collective tables
  std::string nccl_note;    // "" or why another GPU's hold
  Bandwidth scale_up;       // the links that the collective tables were measured on, per GPU and direction
  Bandwidth nic;
};
const std::vector<GpuSource>& gpu_table();

struct Dropped {
  std::string op;
  std::string why;
  std::int64_t rows = 0;
};

// What the recipes have produced so far.
class Report {
 public:
  Report(std::string data_dir, GpuSource gpu) : data_dir_(std::move(data_dir)), gpu_(std::move(gpu)) {}

  const GpuSource& gpu() const { return gpu_; }
  Table table(const std::string& file) const { return Table::read(data_dir_ + "/" + file); }

  void add(FitResult result) { results_.push_back(std::move(result)); }
  void add(ProfileEntry entry) { results_.push_back({entry, entry, {}, false}); }
  void add_own(FitResult result) {
    result.own_gpu = true;
    add(std::move(result));
  }
  // `rows` rows that `op` did not use; 0 adds nothing.
  void drop(const std::string& op, const std::string& why, std::int64_t rows);
  // Parameter of an entry made earlier.
  double param(const std::string& op, const std::string& dtype, const std::string& key) const;
  // The same of the fit's own entry, which still has its nuisance parameters.
  double measured_param(const std::string& op, const std::string& dtype, const std::string& key) const;
  const ProfileEntry& entry(const std::string& op, const std::string& dtype) const;

  const std::vector<FitResult>& results() const { return results_; }
  // In the order they were made. An entry published for another GPU says so, and is `derived`.
  std::vector<ProfileEntry> entries() const;
  const std::vector<Dropped>& dropped() const { return dropped_; }

 private:
  const FitResult& find(const std::string& op, const std::string& dtype) const;

  std::string data_dir_;
  GpuSource gpu_;
  std::vector<FitResult> results_;
  std::vector<Dropped> dropped_;
};

// Remembers shapes; a second row of the same shape is an error at that row.
class Unique {
 public:
  void check(const Table& table, std::size_t row, const std::string& shape);

 private:
  std::set<std::string> seen_;
};

// A measured rate far above what the GPU can do is a wrong unit.
void check_rate(const Table& table, std::size_t row, const std::string& column, double rate, double limit,
                const std::string& what);

// "512" -> "512-1023": the power of two at or below x and the one above, for residual buckets.
std::string bucket(double x);

// Kernels, Hopper.
void fit_gemm(Report& report);
void fit_moe(Report& report);
void fit_attention(Report& report);
void fit_gdn(Report& report);
void derive_ssd(Report& report); // Mamba-2, from the rows of the gated delta rule
void fit_stream(Report& report);
void add_host_link(Report& report);    // PCIe to the host's memory
void add_streams_like(Report& report); // memory-bound ops without a table, from the rates of those with one
void fit_a100(Report& report);         // all kernels of A100
// Any GPU.
void derive_backward(Report& report); // weight and input gradients of GEMMs
void add_common(Report& report);      // launch, host and contention
void fit_collectives(Report& report);
void fit_dispatchers(Report& report);      // DeepEP, HybridEP and NCCL's
void add_nccl_dispatchers(Report& report); // NCCL's alone

// All that the tables of the GPU allow. Throws NotCovered, listing every entry, when there is no kernel table at all.
Profile fit_profile(Report& report, const std::string& name);

// What the simulator may ask for and the report does not have.
std::vector<std::string> missing_entries(const Report& report);

} // namespace tessella::calib
