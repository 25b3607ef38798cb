// The GPU as a Machine: benches of bench_table.cu through the protocol, collectives through NCCL.
#include <algorithm>
#include <array>
#include <optional>

#include "calib/bench/bench_table.h"
#include "calib/bench/cudnn_attention.h"
#include "calib/bench/nccl_group.h"
#include "calib/device/machine.h"
#include "calib/device/nvml_clock.h"

namespace tessella::calib {
namespace {

constexpr std::array kCollectives = {"all_to_all", "all_gather", "reduce_scatter", "all_reduce", "send_recv"};

std::string version_text(int version, int major, int minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

// The GPU of a local rank, or NoDevice with what is wrong. A launcher may let each process see its own GPU only: then
// that is number 0, whatever the rank.
int usable_device(int index) {
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  cudaGetLastError();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (status == cudaErrorInsufficientDriver && driver == 0)
    throw NoDevice("there is no NVIDIA driver on this machine; --backend host measures the CPU");
  if (status == cudaErrorInsufficientDriver)
    throw NoDevice("the driver is for CUDA " + version_text(driver, 1000, 10) + ", this program for CUDA " +
                   version_text(runtime, 1000, 10) + ": update the driver, or build with an older toolkit");
  if (status != cudaSuccess || gpus == 0)
    throw NoDevice(std::string("no usable GPU: ") +
                   cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status) +
                   "; --backend host measures the CPU");
  if (gpus == 1) index = 0;
  if (index >= gpus)
    throw NoDevice("this process is local rank " + std::to_string(index) + ", but the machine has " +
                   std::to_string(gpus) + " GPUs: start one process per GPU");
  cudaDeviceProp p{};
  CALIB_CUDA(cudaGetDeviceProperties(&p, index));
  if (p.major != 9)
    throw NoDevice(std::string(p.name) + " has compute capability " + std::to_string(p.major) + "." +
                   std::to_string(p.minor) + ", the benches are built for 9.0 (Hopper)");
  return index;
}

class EventTimer : public Timer {
 public:
  explicit EventTimer(const Stream& stream) : stream_(stream) {}
  double seconds_of(const std::function<void()>& work) override {
    begin_.record(stream_);
    work();
    end_.record(stream_);
    CALIB_CUDA(cudaEventSynchronize(end_.get()));
    float ms = 0.0F;
    CALIB_CUDA(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
    return static_cast<double>(ms) * 1e-3;
  }

 private:
  const Stream& stream_;
  Event begin_;
  Event end_;
};

std::string bus_id(int device) {
  std::array<char, 32> id{};
  CALIB_CUDA(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device));
  return id.data();
}

RawRow failed(const OpShape& shape, RowStatus status, const std::string& why) {
  RawRow row;
  row.shape = shape;
  row.status = status;
  row.note = why;
  return row;
}

class CudaMachine : public Machine {
 public:
  explicit CudaMachine(const CudaPlace& place)
      : place_(place), gpu_(place.device), clocks_(gpu_clock(bus_id(place.device))), timer_(gpu_.stream()) {
    if (place.world > 1 || gpus_here() > 1) nccl_.emplace(place);
    CALIB_CUDA(cudaSetDevice(place.device));
  }

  DeviceIdentity identity() const override {
    int driver = 0;
    int runtime = 0;
    int nccl = 0;
    CALIB_CUDA(cudaDriverGetVersion(&driver));
    CALIB_CUDA(cudaRuntimeGetVersion(&runtime));
    CALIB_CUDA(ncclGetVersion(&nccl));
    return {"cuda", gpu_.gpu().name, version_text(driver, 1000, 10), version_text(runtime, 1000, 10),
            version_text(nccl, 10'000, 100)};
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    const cudaDeviceProp& p = gpu_.gpu();
    clocks_->begin();
    const DeviceState idle = clocks_->end();
    std::vector<std::pair<std::string, std::string>> facts = {
        {"compute capability", std::to_string(p.major) + "." + std::to_string(p.minor)},
        {"SMs", std::to_string(p.multiProcessorCount)},
        {"L2", std::to_string(p.l2CacheSize >> 20) + " MiB"},
        {"memory", std::to_string(p.totalGlobalMem >> 20) + " MiB"},
        {"cuBLASLt", std::to_string(cublasLtGetVersion())},
        {"attention", fused_attention_text()},
        {"ranks", std::to_string(nccl_ ? nccl_->ranks() : 1)}};
    if (idle.clock_mhz) facts.emplace_back("SM clock at start", std::to_string(std::lround(*idle.clock_mhz)) + " MHz");
    if (idle.power_w) facts.emplace_back("power at start", std::to_string(std::lround(*idle.power_w)) + " W");
    if (idle.temperature_c)
      facts.emplace_back("temperature at start", std::to_string(std::lround(*idle.temperature_c)) + " C");
    return facts;
  }

  bool can_measure(const OpShape& shape, std::string& why_not) const override {
    if (is_collective(shape)) {
      const int ranks = nccl_ ? nccl_->ranks() : 1;
      why_not = "needs " + std::to_string(shape.ranks) + " GPUs, this job has " + std::to_string(ranks);
      if (shape.ranks != ranks) return false;
      why_not = "less than 4 bytes for each rank";
      return shape.dim("bytes") / 4 >= ranks;
    }
    why_not = "no bench for it";
    const auto ops = gpu_ops();
    return std::find(ops.begin(), ops.end(), std::pair(shape.op, shape.kernel)) != ops.end();
  }

  std::vector<RawRow> measure(const OpShape& shape, const MeasureOptions& options) override {
    try {
      if (is_collective(shape)) return {collective(shape, options)};
      return kernel(shape, options);
    } catch (const NoFusedKernel& error) {
      if (cudaDeviceSynchronize() != cudaSuccess) throw;
      return unfused(shape, options, error.what());
    } catch (const WrongResult& error) {
      return {failed(shape, RowStatus::wrong_result, error.what())};
    } catch (const OutOfMemory& error) {
      return {failed(shape, RowStatus::out_of_memory, error.what())};
    } catch (const ThrottledThroughout& error) {
      return {failed(shape, RowStatus::throttled, error.what())};
    } catch (const DeviceError& error) {
      // A sticky error spoils the context: what follows would be noise.
      if (cudaDeviceSynchronize() != cudaSuccess) throw;
      return {failed(shape, RowStatus::failed, error.what())};
    } catch (const std::invalid_argument& error) {
      return {failed(shape, RowStatus::failed, error.what())};
    }
  }

 private:
  static bool is_collective(const OpShape& shape) {
    return std::find(kCollectives.begin(), kCollectives.end(), shape.op) != kCollectives.end();
  }
  static int gpus_here() {
    int gpus = 0;
    CALIB_CUDA(cudaGetDeviceCount(&gpus));
    return gpus;
  }

  std::vector<RawRow> kernel(const OpShape& shape, const MeasureOptions& options) {
    const std::unique_ptr<OpCase> op = gpu_case(gpu_, shape);
    std::size_t free = 0;
    std::size_t total = 0;
    CALIB_CUDA(cudaMemGetInfo(&free, &total));
    const Backend backend{&timer_, clocks_.get(), static_cast<std::size_t>(gpu_.gpu().l2CacheSize), free / 10 * 8};
    if (op->work().footprint > free)
      throw OutOfMemory("the GPU has " + std::to_string(free >> 20) + " MiB free, " + shape.text() + " needs " +
                        std::to_string(op->work().footprint >> 20) + " MiB");
    std::vector<RawRow> rows;
    for (const Measurement& m : calib::measure(*op, shape, backend, options)) {
      RawRow row;
      row.shape = shape;
      row.measurement = m;
      row.work = op->work();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // What this machine has in place of a fused kernel; the row that says why comes last, so that both are there or the
  // shape is measured again.
  std::vector<RawRow> unfused(const OpShape& shape, const MeasureOptions& options, const std::string& why) {
    OpShape other = shape;
    other.kernel = "gemm+softmax";
    std::vector<RawRow> rows = measure(other, options);
    rows.push_back(failed(shape, RowStatus::unsupported, why + "; measured as gemm+softmax instead"));
    return rows;
  }

  // The same number of samples on every rank: each counts on the others to come.
  RawRow collective(const OpShape& shape, const MeasureOptions& options) {
    const auto bytes = static_cast<std::size_t>(shape.dim("bytes"));
    RawRow row;
    row.shape = shape;
    row.measurement.temperature = Temperature::hot;
    OpShape small = shape; // checking gigabytes on the host would take longer than measuring them
    for (auto& [name, value] : small.dims)
      if (name == "bytes") value = std::min<std::int64_t>(value, 16 << 20);
    row.measurement.error = nccl_->verify(small);
    if (!(row.measurement.error <= 1e-6)) throw WrongResult(shape.text() + ": NCCL returned wrong values");
    const double once = nccl_->run(shape, 5); // warm up
    const int times = static_cast<int>(std::clamp(options.batch_seconds / std::max(once, 1e-7), 1.0, 100.0));
    std::vector<double> samples;
    for (int i = 0; i < 21; ++i) {
      clocks_->begin();
      const double seconds = nccl_->run(shape, fixed_times(shape, times));
      if (clocks_->end().throttled)
        ++row.measurement.throttled;
      else
        samples.push_back(seconds);
    }
    if (samples.empty()) throw ThrottledThroughout(shape.text() + ": every sample was held back");
    row.measurement.batch = fixed_times(shape, times);
    row.measurement.summary = summary_of(samples);
    row.work.bytes =
        static_cast<double>(bytes) * (1.0 + 0.01 * static_cast<double>(shape.dim("skew"))); // the busiest rank's
    row.work.footprint = 2 * bytes;
    return row;
  }

  // Every process must call NCCL equally often, so the count may not depend on what one of them measured.
  int fixed_times(const OpShape& shape, int measured) const {
    if (place_.rendezvous == nullptr) return measured;
    return shape.dim("bytes") <= (1 << 20) ? 20 : 2;
  }

  CudaPlace place_;
  GpuContext gpu_;
  std::unique_ptr<ClockSource> clocks_;
  EventTimer timer_;
  std::optional<NcclGroup> nccl_;
};

} // namespace

std::unique_ptr<Machine> cuda_machine(const CudaPlace& place) {
  CudaPlace usable = place;
  usable.device = usable_device(place.device);
  return std::make_unique<CudaMachine>(usable);
}

std::vector<std::pair<std::string, std::string>> cuda_ops() {
  auto ops = gpu_ops();
  for (const char* op : kCollectives) ops.emplace_back(op, "nccl");
  return ops;
}

} // namespace tessella::calib
