// What pairs of chunks cost when they overlap: one entry per distinct pair, so that planners which try many partitions
// schedule each pair once. Entries can be kept on disk and are valid as long as the costs they come from are.
//
//   PairCostTable table(library, OverlapMethod::align_defer);
//   table.load("pairs.csv");                  // what an earlier run computed, if its inputs were the same
//   table.fill(pairs, threads);               // the rest, on all cores
//   table.cost(forward_chunk, backward_chunk)
//
// The file is CSV behind comment lines that name format, inputs (a hash), method and topology class; rows are sorted:
//
//   # tessella pair costs 1
//   # inputs 5f0c...
//   # method align_defer
//   # topology tp=1 cp=1 ep=32 etp=1 on h100_rail_256
//   passes,first,second,post_overlap_ps,serial_ps,lower_bound_ps,ep_busy_ps,ep_hidden_ps
//   FB,2*gdn_moe,gdn_moe+full_moe,21385300000,29801000000,21385300000,13208400000,12001000000
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/planner/overlap/overlap.h"
#include "sim/planner/overlap/pair_chunks.h"

namespace tessella {

// Two chunks that share a GPU, with the pass of each. What is first matters to no cost but names the tasks.
struct ChunkPair {
  ChunkSpec first;
  ChunkSpec second;
  PairPasses passes{ActionKind::F, ActionKind::B};
  auto operator<=>(const ChunkPair&) const = default;
};

struct PairCost {
  Duration post_overlap;
  Duration serial;
  Duration lower_bound; // equal to post_overlap when that is proven
  Duration ep_busy;
  Duration ep_hidden;
  bool operator==(const PairCost&) const = default;
};

class PairCostTable {
 public:
  // The library must outlive the table.
  PairCostTable(const ChunkLibrary& chunks, OverlapMethod method, const SearchLimits& limits = {},
                const AlignRule& align = {});

  // Computes what is missing; equal pairs once. The result does not depend on the number of threads.
  void fill(std::span<const ChunkPair> pairs, unsigned threads);
  // Computes the entry when it is missing. O(log entries) when it is not.
  const PairCost& at(const ChunkPair& pair);
  // The post-overlap cost of a forward beside a backward.
  Duration cost(const ChunkSpec& forward, const ChunkSpec& backward) { return at({forward, backward}).post_overlap; }

  std::size_t size() const { return costs_.size(); }
  std::size_t computed() const { return computed_; } // the others came from a file
  OverlapMethod method() const { return method_; }
  // SHA-256 of all the costs depend on: kernels, exchanges, contention, method and its limits.
  const std::string& inputs() const { return inputs_; }

  std::string text() const;
  // Takes over the entries of an earlier text; nothing when it is of other inputs or damaged. Returns how many.
  std::size_t adopt(std::string_view text);
  // The same with files. A file that does not exist is an empty one; save() replaces it in one go and throws InputError
  // when it cannot.
  std::size_t load(const std::string& path);
  void save(const std::string& path) const;

 private:
  std::string header() const;
  std::string key(const ChunkPair& pair) const;
  PairCost compute(const ChunkPair& pair) const;

  const ChunkLibrary& chunks_;
  OverlapMethod method_;
  SearchLimits limits_;
  AlignRule align_;
  std::string inputs_;
  std::map<ChunkPair, PairCost> costs_;
  std::map<std::string, PairCost> adopted_; // by key, as far as not asked for yet
  std::size_t computed_ = 0;
};

} // namespace tessella
