// What a baseline holds, and what moved against it. A run is kept as three artefacts, diffed in this order because each
// builds on the one before: imbalance (the partition, and what its stages and kernels cost), bubbles (the order, and
// the waits it leaves), fabric (collectives and how much of them is exposed); then the totals.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "sim/domain/named_values.h"

namespace tessella {

enum class Artefact { imbalance, bubbles, fabric, totals };
inline constexpr int kNumArtefacts = 4;
const char* name(Artefact artefact);

struct ArtefactValues {
  NamedTexts texts;
  NamedNumbers numbers; // SI, or fractions of step time for the ledger
  bool operator==(const ArtefactValues&) const = default;
};

struct Snapshot {
  std::string name;    // of the entry in the baseline
  std::string tool;    // version that made it
  std::string note;    // why it was accepted
  NamedTexts inputs;   // file -> sha256
  NamedTexts settings; // of the experiment, after overrides
  std::array<ArtefactValues, kNumArtefacts> artefacts;

  ArtefactValues& operator[](Artefact a) { return artefacts[static_cast<std::size_t>(a)]; }
  const ArtefactValues& operator[](Artefact a) const { return artefacts[static_cast<std::size_t>(a)]; }
  bool operator==(const Snapshot&) const = default;
};

// How far a value may be off before it counts as moved: relative * |expected| + absolute. Without one: not at all.
struct Tolerance {
  std::string of; // "imbalance.costs": every value whose full name is it or begins with it and a dot
  double relative = 0.0;
  double absolute = 0.0;
  std::string reason;
  bool operator==(const Tolerance&) const = default;
};

struct BaselineEntry {
  std::string name;
  std::string experiment; // path, resolved
  std::vector<std::string> overrides;
  bool plan = false; // plan the partition and the pairs anew, instead of running what the experiment says
  bool operator==(const BaselineEntry&) const = default;
};

struct Baseline {
  std::string name;
  std::vector<BaselineEntry> entries;
  std::vector<Tolerance> tolerances; // later ones win
  bool operator==(const Baseline&) const = default;
};

struct Move {
  Artefact artefact = Artefact::imbalance;
  std::string name; // inside the artefact
  std::string before;
  std::string after;
  std::string how; // "+9.1 %, allowed 0.1 %: kernel fits are deterministic"; empty for texts
  bool operator==(const Move&) const = default;
};

// The outcome of one entry.
struct Regression {
  std::string name;
  std::string refused;              // why there is nothing to compare; empty when there is
  std::vector<Move> moves;          // beyond tolerance, by artefact, the largest first
  std::vector<TextChange> settings; // what was asked for, as far as it differs
  std::vector<TextChange> inputs;   // files whose content differs, by short hash
  std::string tool_before;
  std::string tool_after;
  bool failed() const { return !refused.empty() || !moves.empty(); }
  bool operator==(const Regression&) const = default;
};

// O(values^2) in the worst case, O(values) when both hold the same names.
Regression diff(const Snapshot& expected, const Snapshot& now, std::span<const Tolerance> tolerances);

// Which inputs could have moved it, one a line; says so when none did.
std::vector<std::string> causes(const Regression& regression);

} // namespace tessella
