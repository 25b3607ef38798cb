// A host bench from four small functions over a plain struct of tensors: what it moves, how a set of inputs is made,
// how it runs, whether it is right. The files cases_*.cpp hold one struct per kernel family.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "calib/host/tensor.h"
#include "calib/protocol/op_case.h"
#include "calib/protocol/random_fill.h"

namespace tessella::calib {

template <class State>
struct HostOp {
  Work work; // footprint is measured from State::bytes()
  std::function<State(std::uint64_t seed)> make;
  std::function<void(State&)> run;
  std::function<double(State&)> check; // relative error of a state that was run once
};

template <class State>
class StateCase : public OpCase {
 public:
  explicit StateCase(HostOp<State> op) : op_(std::move(op)) { op_.work.footprint = op_.make(1).bytes(); }
  Work work() const override { return op_.work; }
  void prepare(std::size_t sets) override {
    states_.clear();
    for (std::size_t s = 0; s < sets; ++s) states_.push_back(op_.make(s + 1));
  }
  void launch(std::size_t set) override { op_.run(states_[set]); }
  double verify() override { return op_.check(states_[0]); }

 private:
  HostOp<State> op_;
  std::vector<State> states_;
};

template <class State>
std::unique_ptr<OpCase> host_case_of(HostOp<State> op) {
  return std::make_unique<StateCase<State>>(std::move(op));
}

inline Tensor random_tensor(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Tensor t(rows, cols);
  fill_random(t.values(), seed);
  return t;
}

inline Tensor poisoned(std::int64_t rows, std::int64_t cols) {
  Tensor t(rows, cols);
  poison(t.values());
  return t;
}

// |out - ref| / |ref|; reference(i, j) in double. Of large results some 4096 elements, spread over all and with the
// last: a plain reference of every element would take longer than the measurement.
template <class Reference>
double relative_error(const Tensor& out, Reference reference) {
  constexpr std::int64_t kMost = 4096;
  const std::int64_t step = std::max<std::int64_t>(1, out.size() / kMost);
  double difference = 0.0;
  double size = 0.0;
  for (std::int64_t at = out.size() - 1; at >= 0; at -= step) {
    const std::int64_t i = at / out.cols();
    const std::int64_t j = at % out.cols();
    const double expected = reference(i, j);
    const double off = static_cast<double>(out.at(i, j)) - expected;
    difference += off * off;
    size += expected * expected;
  }
  return std::sqrt(difference / size);
}

} // namespace tessella::calib
