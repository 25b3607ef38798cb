#include <algorithm>
#include <chrono>
#include <thread>

#include "calib/bench/cudnn_attention.h"
#include "calib/bench/fill.h"
#include "calib/bench/loop_rank.h"

namespace tessella::calib {
namespace {

constexpr std::chrono::seconds kDeadline{30};

std::vector<ncclComm_t> comms_of(const std::vector<int>& gpus) {
  std::vector<ncclComm_t> comms(gpus.size());
  CALIB_CUDA(ncclCommInitAll(comms.data(), static_cast<int>(gpus.size()), gpus.data()));
  return comms;
}

// Where cuDNN has no kernel, what the measurement takes in its place.
std::unique_ptr<OpCase> case_of(const GpuContext& gpu, const OpShape& shape) {
  try {
    return gpu_case(gpu, shape);
  } catch (const NoFusedKernel&) {
    OpShape other = shape;
    other.kernel = "gemm+softmax";
    return gpu_case(gpu, other);
  }
}

LoopLane lane_of(StepKind kind) {
  if (kind == StepKind::kernel) return LoopLane::compute;
  if (kind == StepKind::exchange) return LoopLane::ep;
  return kind == StepKind::reduce ? LoopLane::dp : LoopLane::p2p;
}

bool is_message(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::receive;
}

} // namespace

LoopComms make_comms(const LoopProgram& program, int ep) {
  const int world = static_cast<int>(program.ranks.size());
  LoopComms all;
  all.world.resize(program.ranks.size());
  all.group.resize(program.ranks.size());
  const auto give = [](std::vector<std::optional<Comm>>& to, int first, int size) {
    std::vector<int> gpus;
    for (int r = first; r < first + size; ++r) gpus.push_back(r);
    const std::vector<ncclComm_t> comms = comms_of(gpus);
    for (int r = 0; r < size; ++r) to[static_cast<std::size_t>(first + r)].emplace(comms[static_cast<std::size_t>(r)]);
  };
  if (world > 1) give(all.world, 0, world);
  for (int first = 0; ep > 1 && first < world; first += ep) give(all.group, first, ep);
  for (const Channel& c : program.channels) {
    const std::vector<ncclComm_t> pair = comms_of({c.from, c.to});
    all.channels.emplace_back(Comm(pair[0]), Comm(pair[1]));
  }
  return all;
}

LoopRank::LoopRank(const LoopProgram& program, int rank, const LoopComms& comms)
    : program_(program), rank_(rank), gpu_(rank), kernels_(program.kernels.size()), links_(program.channels.size()) {
  const auto at = static_cast<std::size_t>(rank);
  if (comms.world[at]) world_ = comms.world[at]->get();
  if (comms.group[at]) group_ = comms.group[at]->get();
  for (std::size_t c = 0; c < links_.size(); ++c) {
    if (program.channels[c].from == rank) links_[c].comm = &*comms.channels[c].first;
    if (program.channels[c].to == rank) links_[c].comm = &*comms.channels[c].second;
    if (links_[c].comm != nullptr) links_[c].stream = std::make_unique<Stream>(true);
  }
  std::int64_t largest = 64;
  for (const ProgramStep& s : program.ranks[at]) {
    largest = std::max(largest, s.bytes);
    starts_.push_back(std::make_unique<Event>());
    ends_.push_back(std::make_unique<Event>());
    if (s.kind != StepKind::kernel || kernels_[s.index] != nullptr) continue;
    kernels_[s.index] = case_of(gpu_, program.kernels[s.index]);
    kernels_[s.index]->prepare(1);
  }
  send_ = random_memory(static_cast<std::size_t>(largest) / 2, Element::bf16, at + 1, gpu_.stream());
  receive_ = DeviceMemory(static_cast<std::size_t>(largest));
  gpu_.stream().wait();
}

void LoopRank::connect() {
  CALIB_CUDA(cudaSetDevice(rank_));
  for (std::size_t c = 0; c < links_.size(); ++c) {
    if (links_[c].comm == nullptr) continue;
    ncclComm_t comm = links_[c].comm->get();
    cudaStream_t stream = links_[c].stream->get();
    if (program_.channels[c].from == rank_)
      CALIB_CUDA(ncclSend(send_.get(), 16, ncclBfloat16, 1, comm, stream));
    else
      CALIB_CUDA(ncclRecv(receive_.get(), 16, ncclBfloat16, 0, comm, stream));
    links_[c].stream->wait();
  }
}

void LoopRank::begin_step() {
  CALIB_CUDA(cudaSetDevice(rank_));
  begin_.record(gpu_.stream());
}

// A message waits for what its rank computed before, as a framework posts it: a receive that stood on the GPU earlier
// would hold SMs. What comes after a receive waits for it; nothing waits for a send.
void LoopRank::transfer(const ProgramStep& s, std::size_t i) {
  const Link& link = links_[s.index];
  const Event ready(false);
  ready.record(gpu_.stream());
  CALIB_CUDA(cudaStreamWaitEvent(link.stream->get(), ready.get()));
  starts_[i]->record(*link.stream);
  const auto count = static_cast<std::size_t>(s.bytes / 2);
  if (s.kind == StepKind::send)
    CALIB_CUDA(ncclSend(send_.get(), count, ncclBfloat16, 1, link.comm->get(), link.stream->get()));
  else
    CALIB_CUDA(ncclRecv(receive_.get(), count, ncclBfloat16, 0, link.comm->get(), link.stream->get()));
  ends_[i]->record(*link.stream);
  if (s.kind == StepKind::receive) CALIB_CUDA(cudaStreamWaitEvent(gpu_.stream().get(), ends_[i]->get()));
}

// Equal parts to all ranks of the group.
void LoopRank::exchange(const ProgramStep& s) {
  const auto part = static_cast<std::size_t>(s.bytes / 2 / s.ranks);
  CALIB_CUDA(ncclGroupStart());
  for (int peer = 0; peer < s.ranks; ++peer) {
    const std::size_t at = 2 * static_cast<std::size_t>(peer) * part;
    CALIB_CUDA(ncclSend(send_.as<std::byte>() + at, part, ncclBfloat16, peer, group_, gpu_.stream().get()));
    CALIB_CUDA(ncclRecv(receive_.as<std::byte>() + at, part, ncclBfloat16, peer, group_, gpu_.stream().get()));
  }
  CALIB_CUDA(ncclGroupEnd());
}

void LoopRank::issue(std::size_t i) {
  const ProgramStep& s = program_.ranks[static_cast<std::size_t>(rank_)][i];
  if (is_message(s.kind)) {
    transfer(s, i);
    return;
  }
  starts_[i]->record(gpu_.stream());
  if (s.kind == StepKind::kernel)
    kernels_[s.index]->launch(0);
  else if (s.kind == StepKind::exchange)
    exchange(s);
  else
    CALIB_CUDA(ncclAllReduce(send_.get(), receive_.get(), static_cast<std::size_t>(s.bytes / 4), ncclFloat, ncclSum,
                             s.ranks == static_cast<int>(program_.ranks.size()) ? world_ : group_,
                             gpu_.stream().get()));
  ends_[i]->record(gpu_.stream());
}

void LoopRank::wait(const StopFlag& stop) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  const std::vector<ProgramStep>& steps = program_.ranks[static_cast<std::size_t>(rank_)];
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    for (cudaError_t state = cudaEventQuery(ends_[i]->get()); state != cudaSuccess;
         state = cudaEventQuery(ends_[i]->get())) {
      if (state != cudaErrorNotReady) CALIB_CUDA(state);
      if (stop.load()) throw Stopped();
      if (std::chrono::steady_clock::now() > deadline)
        throw DeviceError("rank " + std::to_string(rank_) + " hangs in " + steps[i].op + ", step " +
                          std::to_string(i + 1) + " of " + std::to_string(steps.size()) + ", for 30 s");
      std::this_thread::yield();
    }
  }
}

void LoopRank::run(const StopFlag& stop) {
  CALIB_CUDA(cudaSetDevice(rank_));
  for (std::size_t i = 0; i < ends_.size(); ++i) issue(i);
  wait(stop);
}

double LoopRank::since_begin(const Event& e) const {
  float ms = 0.0F;
  CALIB_CUDA(cudaEventElapsedTime(&ms, begin_.get(), e.get()));
  return static_cast<double>(ms) * 1e-3;
}

std::vector<LoopEvent> LoopRank::events() const {
  CALIB_CUDA(cudaSetDevice(rank_));
  std::vector<LoopEvent> list;
  const std::vector<ProgramStep>& steps = program_.ranks[static_cast<std::size_t>(rank_)];
  for (std::size_t i = 0; i < steps.size(); ++i)
    list.push_back({steps[i].op, lane_of(steps[i].kind), steps[i].action, steps[i].in_action, since_begin(*starts_[i]),
                    0.0, since_begin(*ends_[i])});
  return list;
}

} // namespace tessella::calib
