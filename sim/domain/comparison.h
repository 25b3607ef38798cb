// Two results side by side: which inputs differ, where the time moved, and whether the difference means anything.
#pragma once

#include <string>
#include <vector>

#include "sim/domain/named_values.h"

namespace tessella {

// A result by the keys of `run --json`, nested ones joined by dots: numbers "step_time_s", "ledger.compute",
// "ledger.exposed.ep", "memory.peak_bytes"; texts "plan.model".
struct FlatResult {
  std::string name;    // what a person calls it: its file
  NamedTexts settings; // of the experiment file, or of the plan
  NamedTexts inputs;   // file -> sha256
  NamedNumbers numbers;
  bool operator==(const FlatResult&) const = default;
};

enum class Significance {
  tie,    // closer than the tie band
  within, // the intervals of the two step times overlap
  beyond, // disjoint intervals, or one step each and more than the tie band apart
};

struct NumberChange {
  std::string name;
  double before = 0.0;
  double after = 0.0;
  bool operator==(const NumberChange&) const = default;
};

struct Comparison {
  std::string before; // names
  std::string after;
  std::vector<TextChange> settings;
  std::vector<TextChange> inputs; // files with another content, by short hash
  NumberChange step_time;         // seconds
  double relative = 0.0;          // after / before - 1
  bool has_interval = false;      // at least one of them simulated several steps
  Significance significance = Significance::tie;
  std::vector<NumberChange> ledger; // seconds per step of each share, most moved first; those below 0.01 % left out
  std::vector<NumberChange> others; // throughput, MFU, memory
  bool operator==(const Comparison&) const = default;
};

// The band within which measured neighbours differ anyway.
inline constexpr double kDefaultTie = 0.02;

Comparison compare(const FlatResult& before, const FlatResult& after, double tie = kDefaultTie);

} // namespace tessella
