#include "calib/loop/execute.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "calib/host/host_comm.h"
#include "calib/loop/message_board.h"
#include "calib/loop/order.h"
#include "calib/loop/stage.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

// Zeroed memory for one communicator.
class CommBlock {
 public:
  CommBlock(int ranks, std::int64_t capacity)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(64, comm_block_bytes(ranks, capacity)))) {
    TSL_CHECK(memory_ != nullptr);
    std::memset(memory_.get(), 0, comm_block_bytes(ranks, capacity));
  }
  void* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

std::int64_t count(const std::vector<Parameter*>& parameters, bool dense_only) {
  std::int64_t n = 0;
  for (const Parameter* p : parameters)
    if (!dense_only || !p->expert) n += p->value.size();
  return n;
}

// One rank: its stages, and what it needs to run them.
struct RankState {
  int rank = 0;
  int ep_rank = 0;
  std::vector<Action> order;
  std::vector<PipelineStage> stages; // by chunk
  std::vector<MicroBatchData> data;  // by micro-batch
  std::vector<std::unique_ptr<StageContext>> free_contexts;
  std::vector<std::vector<std::unique_ptr<StageContext>>> live; // [chunk][micro-batch]
  std::unique_ptr<HostComm> group;                              // EP; nothing with one rank
  std::unique_ptr<HostComm> world;
  Recorder recorder;
  LayerRuntime runtime;
  Tensor activations;
  Tensor gradients;
  double loss = 0.0;
  double gradient_norm = 0.0;
};

} // namespace

struct PlanExecution::State {
  LoopModel model;
  LoopPlan plan;
  StopFlag stop = false;
  RopeTable rope;
  std::vector<std::int32_t> forced;
  std::vector<CommBlock> blocks; // world, then one per pipeline rank
  std::unique_ptr<MessageBoard> board;
  std::vector<RankState> ranks;
  std::int64_t step = 0;

  void make_rank(int rank, const std::vector<std::vector<Action>>& order, std::int64_t group_capacity);
  void run_action(RankState& r, const Action& a);
  void forward(RankState& r, PipelineStage& stage, const Action& a, const Tensor* in);
  void backward(RankState& r, PipelineStage& stage, const Action& a, const Tensor* dout);
  const Tensor* receive(RankState& r, const PipelineStage& stage, const Action& a);
  void send(RankState& r, const Action& to, const Tensor& values);
  void finish_step(RankState& r);
  ExecutedStep run_step();
};

void PlanExecution::State::make_rank(int rank, const std::vector<std::vector<Action>>& order,
                                     std::int64_t group_capacity) {
  RankState& r = ranks[static_cast<std::size_t>(rank)];
  const int pp_rank = rank / plan.ep; // rank order ep-pp, EP fastest
  r.rank = rank;
  r.ep_rank = rank % plan.ep;
  r.order = order[static_cast<std::size_t>(pp_rank)];
  for (int s = pp_rank; s < plan.stages(); s += plan.pp) r.stages.emplace_back(model, plan, s, r.ep_rank);
  for (int m = 0; m < plan.micro_batches; ++m) r.data.push_back(make_data(model, r.ep_rank, m));
  r.live.resize(r.stages.size());
  for (auto& by_micro_batch : r.live) by_micro_batch.resize(static_cast<std::size_t>(plan.micro_batches));
  r.world = std::make_unique<HostComm>(blocks[0].get(), rank, plan.world(), 64, stop);
  if (plan.ep > 1)
    r.group = std::make_unique<HostComm>(blocks[1 + static_cast<std::size_t>(pp_rank)].get(), r.ep_rank, plan.ep,
                                         group_capacity, stop);
  r.runtime.model = &model;
  r.runtime.rope = &rope;
  r.runtime.group = r.group.get();
  r.runtime.recorder = &r.recorder;
  r.runtime.forced = forced;
}

const Tensor* PlanExecution::State::receive(RankState& r, const PipelineStage& stage, const Action& a) {
  if (a.kind == ActionKind::F ? stage.is_first() : stage.is_last()) return nullptr;
  ReceiveTimes t;
  const Tensor& values = board->receive(a, r.ep_rank, step, t);
  r.recorder.add("recv", LoopLane::p2p, t.begin, t.sending - t.begin, t.end);
  return &values;
}

void PlanExecution::State::send(RankState& r, const Action& to, const Tensor& values) {
  const double begin = wall_seconds();
  board->send(to, r.ep_rank, step, values);
  r.recorder.add("send", LoopLane::p2p, begin, 0.0, wall_seconds());
}

void PlanExecution::State::run_action(RankState& r, const Action& a) {
  PipelineStage& stage = r.stages[static_cast<std::size_t>(a.stage.value / plan.pp)];
  r.recorder.begin_action(a);
  const Tensor* in = receive(r, stage, a);
  if (a.kind == ActionKind::F)
    forward(r, stage, a, in);
  else
    backward(r, stage, a, in);
  r.recorder.end_action();
}

void PlanExecution::State::forward(RankState& r, PipelineStage& stage, const Action& a, const Tensor* in) {
  // Contexts are reused last in, first out, as an allocator would reuse the memory.
  if (r.free_contexts.empty()) r.free_contexts.push_back(std::make_unique<StageContext>());
  std::unique_ptr<StageContext> context = std::move(r.free_contexts.back());
  r.free_contexts.pop_back();
  const auto m = static_cast<std::size_t>(a.micro_batch.value);
  const auto loss = stage.forward(in, r.data[m], r.activations, *context, r.runtime);
  if (loss) r.loss += *loss;
  r.live[static_cast<std::size_t>(a.stage.value / plan.pp)][m] = std::move(context);
  if (!stage.is_last()) send(r, {Stage(a.stage.value + 1), ActionKind::F, a.micro_batch}, r.activations);
}

void PlanExecution::State::backward(RankState& r, PipelineStage& stage, const Action& a, const Tensor* dout) {
  const auto m = static_cast<std::size_t>(a.micro_batch.value);
  auto& context = r.live[static_cast<std::size_t>(a.stage.value / plan.pp)][m];
  TSL_CHECK(context != nullptr);
  const double scale = 1.0 / static_cast<double>(model.seq * plan.micro_batches * plan.ep);
  stage.backward(dout, scale, r.data[m], r.gradients, *context, r.runtime);
  r.free_contexts.push_back(std::move(context));
  if (!stage.is_first()) send(r, {Stage(a.stage.value - 1), ActionKind::B, a.micro_batch}, r.gradients);
}

// Gradient reduction over the group, gradient norm over all ranks, optimizer.
void PlanExecution::State::finish_step(RankState& r) {
  std::vector<Parameter*> parameters;
  for (PipelineStage& stage : r.stages)
    for (Parameter* p : stage.parameters()) parameters.push_back(p);
  if (r.group) {
    std::vector<std::span<float>> dense;
    for (Parameter* p : parameters)
      if (!p->expert) dense.push_back(p->grad.values());
    const ExchangeTimes t = r.group->all_reduce(dense);
    r.recorder.add("grad_reduce", LoopLane::dp, t.begin, t.last_arrival - t.begin, t.end);
  }
  float norm[1] = {0.0F};
  r.recorder.run("grad_norm", [&] {
    double sum = 0.0; // dense gradients are the same on all ranks of a group: the first counts them
    for (const Parameter* p : parameters)
      if (p->expert || r.ep_rank == 0) sum += squared_norm(p->grad.values());
    norm[0] = static_cast<float>(sum);
  });
  const ExchangeTimes t = r.world->all_reduce(std::span<float>(norm));
  r.recorder.add("norm_sync", LoopLane::dp, t.begin, t.last_arrival - t.begin, t.end);
  r.gradient_norm = static_cast<double>(norm[0]);
  AdamStep adam_step;
  adam_step.step = step;
  adam_step.clip = std::min(1.0F, 1.0F / (std::sqrt(norm[0]) + 1e-6F));
  r.recorder.run("optimizer", [&] {
    for (Parameter* p : parameters)
      adam(adam_step, p->value.values(), p->grad.values(), p->mean.values(), p->variance.values());
  });
}

ExecutedStep PlanExecution::State::run_step() {
  ++step;
  std::vector<double> begin(ranks.size());
  std::vector<double> end(ranks.size());
  std::vector<double> disturbed(ranks.size());
  run_ranks(plan.world(), stop, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    RankState& r = ranks[at];
    r.loss = 0.0;
    const ExchangeTimes together = r.world->barrier();
    Disturbance disturbance;
    disturbance.start();
    begin[at] = together.end;
    r.recorder.begin_step(together.last_arrival);
    for (const Action& a : r.order) run_action(r, a);
    finish_step(r);
    end[at] = wall_seconds();
    disturbed[at] = disturbance.seconds();
  });
  ExecutedStep result;
  result.seconds = *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
  result.disturbed = *std::max_element(disturbed.begin(), disturbed.end());
  for (const RankState& r : ranks) {
    result.loss += r.loss / static_cast<double>(plan.micro_batches * plan.ep);
    result.events.push_back(r.recorder.events());
  }
  return result;
}

PlanExecution::PlanExecution(const LoopModel& model, const LoopPlan& plan) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.model = model;
  s.plan = plan;
  s.rope = RopeTable(model.seq, model.head_dim);
  s.forced = forced_experts(model, plan);
  const auto order = order_of(plan);
  // Room for the busiest all-to-all and for the dense gradients of a whole model.
  const std::int64_t layer =
      model.hidden * (model.attention().qkv_width() + model.attention().out_width() + model.experts + 2);
  const std::int64_t capacity = std::max(plan.ep * model.seq * model.topk * model.hidden,
                                         model.layers * layer + 2 * model.vocab * model.hidden + model.hidden);
  s.blocks.emplace_back(plan.world(), 64);
  for (int p = 0; p < plan.pp && plan.ep > 1; ++p) s.blocks.emplace_back(plan.ep, capacity);
  s.board = std::make_unique<MessageBoard>(model, plan, s.stop);
  s.ranks.resize(static_cast<std::size_t>(plan.world()));
  for (int r = 0; r < plan.world(); ++r) s.make_rank(r, order, capacity);
}

PlanExecution::~PlanExecution() = default;
PlanExecution::PlanExecution(PlanExecution&&) noexcept = default;

std::vector<ExecutedStep> PlanExecution::run(int warmup, int wanted, int limit) {
  for (int i = 0; i < warmup; ++i) state_->run_step();
  std::vector<ExecutedStep> steps;
  for (int good = 0; good < wanted && static_cast<int>(steps.size()) < limit;) {
    steps.push_back(state_->run_step());
    if (steps.back().disturbed <= kDisturbedShare * steps.back().seconds) ++good;
  }
  return steps;
}

std::vector<std::int64_t> PlanExecution::parameters_per_rank() const {
  std::vector<std::int64_t> counts;
  for (RankState& r : state_->ranks) {
    std::int64_t n = 0;
    for (PipelineStage& stage : r.stages) n += count(stage.parameters(), false);
    counts.push_back(n);
  }
  return counts;
}

std::vector<std::int64_t> PlanExecution::dense_parameters_per_rank() const {
  std::vector<std::int64_t> counts;
  for (RankState& r : state_->ranks) {
    std::int64_t n = 0;
    for (PipelineStage& stage : r.stages) n += count(stage.parameters(), true);
    counts.push_back(n);
  }
  return counts;
}

double PlanExecution::last_gradient_norm() const {
  return state_->ranks.front().gradient_norm;
}

} // namespace tessella::calib
