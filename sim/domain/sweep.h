// Many scenarios from one experiment, as a user asks for them; sim/config/load_sweep.h reads one, and
// sim/store/sweep_points.h lists its points. An override is "a.b=v", as after --set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/expression.h"

namespace tessella {

// A stretch of numbers; only samples draw from one.
struct SweepRange {
  double min = 0.0;
  double max = 0.0;
  bool log = false;     // uniform in the logarithm
  bool integer = false; // both ends were written without a point: whole numbers, ends included
  bool operator==(const SweepRange&) const = default;
};

struct SweepAxis {
  std::string path;                // "parallelism.tp"
  std::vector<std::string> values; // YAML text; empty with a range
  std::optional<SweepRange> range = {};
  bool operator==(const SweepAxis&) const = default;
};

enum class SampleMethod { random, latin_hypercube };

struct SweepSample {
  SampleMethod method = SampleMethod::random;
  std::int64_t points = 0;
  std::uint64_t seed = 1;
  bool operator==(const SweepSample&) const = default;
};

// Every entry of the list is combined with every point of the grid; a sample draws from that space instead. Points that
// break a constraint are left out.
struct SweepSpec {
  std::string name;
  std::string experiment;                     // path, resolved
  std::vector<std::string> set;               // overrides of every point; those below come after them
  std::vector<std::vector<std::string>> list; // overrides of one entry each; empty: no list
  std::vector<SweepAxis> grid;
  std::vector<Expression> constraints; // names: a path of set, list or grid, or its last part when that is unique
  std::optional<SweepSample> sample;
  bool operator==(const SweepSpec&) const = default;
};

// "a.b" of "a.b=v", and "v".
std::string path_of(const std::string& override_text);
std::string value_of(const std::string& override_text);

// What a name stands for among overrides: the last one whose path is the name or ends in "." + name; a number when the
// value is one, else its text without quotes; nothing when there is none.
ExprValue lookup_override(const std::vector<std::string>& overrides, const std::string& name);

} // namespace tessella
