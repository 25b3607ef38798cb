#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "calib/bench/nccl_group.h"
#include "calib/launch/rendezvous.h"

namespace tessella::calib {
namespace {

constexpr std::chrono::seconds kDeadline{30};

std::string id_bytes(const ncclUniqueId& id) {
  return std::string(id.internal, sizeof id.internal);
}

ncclUniqueId id_of(const std::string& bytes) {
  ncclUniqueId id{};
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  return id;
}

__global__ void fill_ranks(float* at, std::size_t count, float value) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    at[i] = value + static_cast<float>(i % 7); // small whole numbers: sums are exact
}

} // namespace

// One GPU of this process.
struct NcclGroup::Local {
  explicit Local(int device_index) : device(device_index) {
    CALIB_CUDA(cudaSetDevice(device));
    stream = std::make_unique<Stream>();
    begin = std::make_unique<Event>();
    end = std::make_unique<Event>();
  }
  int device;
  int rank = 0;
  ncclComm_t comm = nullptr;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> begin;
  std::unique_ptr<Event> end;
  DeviceMemory send;
  DeviceMemory receive;
};

NcclGroup::NcclGroup(const CudaPlace& place) : place_(place) {
  int gpus = 0;
  CALIB_CUDA(cudaGetDeviceCount(&gpus));
  if (place.rendezvous != nullptr) {
    ranks_ = place.world;
    locals_.push_back(std::make_unique<Local>(place.device));
    ncclUniqueId id{};
    if (place.rank == 0) CALIB_CUDA(ncclGetUniqueId(&id));
    id = id_of(place.rendezvous->broadcast(id_bytes(id)));
    Local& local = *locals_.front();
    local.rank = place.rank;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0; // so that a rank that never comes cannot hang us
    CALIB_CUDA(ncclCommInitRankConfig(&local.comm, ranks_, id, place.rank, &config));
    wait("communicator");
    return;
  }
  if (place.gpus > 0) gpus = std::min(gpus, place.gpus);
  if (gpus < 2) return;
  ranks_ = gpus;
  for (int g = 0; g < gpus; ++g) {
    locals_.push_back(std::make_unique<Local>(g));
    locals_.back()->rank = g;
  }
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(gpus));
  CALIB_CUDA(ncclCommInitAll(comms.data(), gpus, nullptr));
  for (int g = 0; g < gpus; ++g) locals_[static_cast<std::size_t>(g)]->comm = comms[static_cast<std::size_t>(g)];
}

NcclGroup::~NcclGroup() {
  for (const auto& local : locals_) {
    CALIB_CUDA_NOEXCEPT(cudaSetDevice(local->device));
    if (local->comm != nullptr) CALIB_CUDA_NOEXCEPT(ncclCommDestroy(local->comm));
  }
  CALIB_CUDA_NOEXCEPT(cudaSetDevice(place_.device));
}

void NcclGroup::abandon() {
  for (const auto& local : locals_) {
    if (local->comm != nullptr) CALIB_CUDA_NOEXCEPT(ncclCommAbort(local->comm));
    local->comm = nullptr;
  }
}

void NcclGroup::give_up(const std::string& op) {
  abandon();
  if (place_.rendezvous != nullptr && place_.rendezvous->lost()) throw RankLost(place_.rendezvous->reason());
  throw DeviceError("NCCL time-out: " + op + " over " + std::to_string(ranks_) + " ranks did not end within " +
                    std::to_string(kDeadline.count()) + " s");
}

// Until `idle` says so; gives up at the deadline, or when a rank is lost.
template <class Idle>
void NcclGroup::poll(const std::string& op, Idle idle) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!idle()) {
    const bool lost = place_.rendezvous != nullptr && place_.rendezvous->lost();
    if (lost || std::chrono::steady_clock::now() > end) give_up(op);
    std::this_thread::yield();
  }
}

// Whether NCCL has nothing left to do on the host for this GPU.
bool NcclGroup::settled(const std::string& op, const Local& local) {
  if (local.comm == nullptr) throw DeviceError("NCCL failed before, so " + op + " cannot run");
  ncclResult_t state = ncclSuccess;
  CALIB_CUDA(ncclCommGetAsyncError(local.comm, &state));
  if (state == ncclSuccess) return true;
  if (state == ncclInProgress) return false;
  abandon();
  throw DeviceError("NCCL failed in " + op + ": " + ncclGetErrorString(state));
}

// A communicator that does not block must have settled before its next call.
void NcclGroup::settle(const std::string& op) {
  for (const auto& local : locals_) poll(op, [&] { return settled(op, *local); });
}

// Until NCCL and the streams are idle.
void NcclGroup::wait(const std::string& op) {
  for (const auto& local : locals_) {
    poll(op, [&] {
      if (!settled(op, *local)) return false;
      const cudaError_t stream = cudaStreamQuery(local->stream->get());
      if (stream != cudaErrorNotReady) CALIB_CUDA(stream);
      return stream == cudaSuccess;
    });
  }
}

void NcclGroup::reserve(const Exchange& x) {
  const std::size_t received = std::max(x.all, x.parts.size() * *std::max_element(x.parts.begin(), x.parts.end()));
  for (const auto& local : locals_) {
    if (local->send.bytes() >= 4 * x.all && local->receive.bytes() >= 4 * received) continue;
    CALIB_CUDA(cudaSetDevice(local->device));
    local->send = DeviceMemory(); // freed before the larger ones are asked for
    local->receive = DeviceMemory();
    local->send = random_memory(x.all, Element::f32, static_cast<std::uint64_t>(local->rank) + 1, *local->stream);
    local->receive = DeviceMemory(4 * received);
  }
}

// Even parts, but for an all-to-all with `skew`: then the last rank receives that many per cent more than the mean, the
// first as many less.
NcclGroup::Exchange NcclGroup::exchange_of(const OpShape& shape) const {
  const auto n = static_cast<std::size_t>(ranks_);
  Exchange x;
  x.op = shape.op;
  x.all = static_cast<std::size_t>(shape.dim("bytes")) / 4 / n * n;
  const OpShape ramp{
      "", "", "", {{"experts", ranks_}, {"tokens", static_cast<std::int64_t>(x.all)}, {"skew", shape.dim("skew")}}, 1};
  for (const std::int64_t part : expert_tokens(ramp)) {
    x.offsets.push_back(x.parts.empty() ? 0 : x.offsets.back() + x.parts.back());
    x.parts.push_back(static_cast<std::size_t>(part));
  }
  return x;
}

// Every rank sends part p to rank p.
void NcclGroup::launch_all_to_all(const Exchange& x, const Local& local) {
  const std::size_t mine = x.parts[static_cast<std::size_t>(local.rank)];
  for (std::size_t peer = 0; peer < x.parts.size(); ++peer) {
    CALIB_CUDA(ncclSend(local.send.as<float>() + x.offsets[peer], x.parts[peer], ncclFloat, static_cast<int>(peer),
                        local.comm, local.stream->get()));
    CALIB_CUDA(ncclRecv(local.receive.as<float>() + peer * mine, mine, ncclFloat, static_cast<int>(peer), local.comm,
                        local.stream->get()));
  }
}

void NcclGroup::launch(const Exchange& x, const Local& local) {
  const std::size_t part = x.all / x.parts.size();
  auto* send = local.send.as<float>();
  auto* receive = local.receive.as<float>();
  cudaStream_t stream = local.stream->get();
  if (x.op == "all_reduce") {
    CALIB_CUDA(ncclAllReduce(send, receive, x.all, ncclFloat, ncclSum, local.comm, stream));
  } else if (x.op == "all_gather") {
    CALIB_CUDA(ncclAllGather(send, receive, part, ncclFloat, local.comm, stream));
  } else if (x.op == "reduce_scatter") {
    CALIB_CUDA(ncclReduceScatter(send, receive, part, ncclFloat, ncclSum, local.comm, stream));
  } else if (x.op == "send_recv") {
    CALIB_CUDA(ncclSend(send, x.all, ncclFloat, (local.rank + 1) % ranks_, local.comm, stream));
    CALIB_CUDA(ncclRecv(receive, x.all, ncclFloat, (local.rank + ranks_ - 1) % ranks_, local.comm, stream));
  } else {
    launch_all_to_all(x, local);
  }
}

void NcclGroup::launch_all(const Exchange& x) {
  CALIB_CUDA(ncclGroupStart());
  for (const auto& local : locals_) {
    CALIB_CUDA(cudaSetDevice(local->device));
    launch(x, *local);
  }
  CALIB_CUDA(ncclGroupEnd());
  settle(x.op);
}

double NcclGroup::run(const OpShape& shape, int times) {
  const Exchange x = exchange_of(shape);
  reserve(x);
  for (const auto& local : locals_) {
    CALIB_CUDA(cudaSetDevice(local->device));
    local->begin->record(*local->stream);
  }
  for (int i = 0; i < times; ++i) launch_all(x);
  for (const auto& local : locals_) {
    CALIB_CUDA(cudaSetDevice(local->device));
    local->end->record(*local->stream);
  }
  wait(x.op);
  double slowest = 0.0;
  for (const auto& local : locals_) {
    float ms = 0.0F;
    CALIB_CUDA(cudaEventElapsedTime(&ms, local->begin->get(), local->end->get()));
    slowest = std::max(slowest, static_cast<double>(ms) * 1e-3 / times);
  }
  return slowest;
}

// Element i of what a rank receives, when rank r sent 10 (r + 1) + j % 7 as its element j.
double NcclGroup::expected(const Exchange& x, std::size_t rank, std::size_t i) {
  const std::size_t n = x.parts.size();
  const std::size_t part = x.all / n;
  const auto sent = [](std::size_t r, std::size_t j) { return static_cast<double>(10 * (r + 1) + j % 7); };
  const double ranks = 10.0 * static_cast<double>(n * (n + 1) / 2);
  if (x.op == "all_reduce") return ranks + static_cast<double>(n * (i % 7));
  if (x.op == "reduce_scatter") return ranks + static_cast<double>(n * ((rank * part + i) % 7));
  if (x.op == "all_gather") return sent(i / part, i % part);
  if (x.op == "send_recv") return sent((rank + n - 1) % n, i);
  return sent(i / x.parts[rank], x.offsets[rank] + i % x.parts[rank]);
}

double NcclGroup::verify(const OpShape& shape) {
  const Exchange x = exchange_of(shape);
  reserve(x);
  for (const auto& local : locals_) {
    CALIB_CUDA(cudaSetDevice(local->device));
    fill_ranks<<<256, 256, 0, local->stream->get()>>>(local->send.as<float>(), x.all,
                                                      static_cast<float>(10 * (local->rank + 1)));
    CALIB_LAUNCHED(fill_ranks);
    CALIB_CUDA(cudaMemsetAsync(local->receive.get(), 0xff, local->receive.bytes(), local->stream->get()));
  }
  launch_all(x);
  wait(x.op);
  double worst = 0.0;
  for (const auto& local : locals_) {
    CALIB_CUDA(cudaSetDevice(local->device));
    const auto rank = static_cast<std::size_t>(local->rank);
    std::vector<float> got(x.op == "reduce_scatter" ? x.all / x.parts.size()
                           : x.op == "all_to_all"   ? x.parts.size() * x.parts[rank]
                                                    : x.all);
    CALIB_CUDA(cudaMemcpyAsync(got.data(), local->receive.get(), got.size() * 4, cudaMemcpyDeviceToHost,
                               local->stream->get()));
    local->stream->wait();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(static_cast<double>(got[i]) / expected(x, rank, i) - 1.0);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

} // namespace tessella::calib
