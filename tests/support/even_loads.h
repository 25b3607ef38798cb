// The same number of tokens for every rank, as the offline plan has them.
#pragma once

#include <algorithm>

#include "sim/exec/loads.h"

namespace tessella {

class EvenLoads final : public LoadSource {
 public:
  explicit EvenLoads(std::int32_t rows) : rows_(rows) {}
  void prepare(std::int64_t) override {}
  RoutedRows rank_loads(std::int64_t, std::int32_t, std::int32_t, std::int32_t,
                        std::span<std::int32_t> out) const override {
    std::fill(out.begin(), out.end(), rows_);
    return {static_cast<std::int64_t>(rows_) * static_cast<std::int64_t>(out.size()), 0};
  }

 private:
  std::int32_t rows_;
};

} // namespace tessella
