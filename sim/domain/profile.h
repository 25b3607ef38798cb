// The profile: measured costs of one GPU and its fabric, each with where it came from and how far off it was.
// It is the only thing calibration and simulation share. An entry is a physical form with parameters
// (sim/domain/kernel_forms.h lists the forms and their parameters); parameters are SI after loading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

enum class Provenance : std::uint8_t { measured, published, derived, assumed };
inline constexpr int kNumProvenances = 4;
const char* name(Provenance p);

struct Residual {
  double median = 0.0; // absolute relative error on held-out rows
  double p95 = 0.0;
  std::int64_t rows = 0;
  bool operator==(const Residual&) const = default;
};

struct ProfileEntry {
  std::string op;    // "gemm", "grouped_gemm", "attention_fwd", "all_to_all", "dispatch", ...
  std::string dtype; // "bf16", "fp8", "" when it does not matter
  std::string tier;  // collectives: "node" or "fabric"; "" otherwise
  std::string form;  // a form of kernel_forms.h
  std::vector<std::pair<std::string, double>> params; // SI: seconds, bytes, bytes/s, FLOP/s, or plain
  Provenance provenance = Provenance::assumed;
  std::string source;
  std::optional<Residual> residual;
  bool operator==(const ProfileEntry&) const = default;

  std::optional<double> param(const std::string& key) const;
};

struct GpuSpec {
  std::string name;
  std::int64_t sms = 0;
  FlopRate bf16_peak; // dense
  FlopRate fp8_peak;  // dense
  Bandwidth hbm;
  Bytes memory;
  std::string source;
  bool operator==(const GpuSpec&) const = default;
};

struct Profile {
  std::string name;
  GpuSpec gpu;
  std::vector<ProfileEntry> entries; // unique by (op, dtype, tier)
  bool operator==(const Profile&) const = default;

  // Exact (op, dtype, tier); an entry with empty dtype serves every dtype. nullptr when there is none.
  const ProfileEntry* find(const std::string& op, const std::string& dtype = "", const std::string& tier = "") const;
};

} // namespace tessella
