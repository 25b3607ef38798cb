// Elementwise kernels of a layer: residual addition (3 passes) and rotary positions (2 passes, in place); and plain
// copies by the driver, device to device, whose rate is the ceiling of all memory-bound kernels.
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;

struct CopyState {
  DeviceMemory a, b, out;
  DeviceMemory table; // cosine and sine of [position, pair]
};

__global__ void add_kernel(const Eight* a, const Eight* b, Eight* out, std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += step) {
    float x[8];
    float y[8];
    unpack(a[i], x);
    unpack(b[i], y);
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e] += y[e];
    out[i] = pack(x);
  }
}

// Pair i of a head turns by position * 10000^(-2i/dim).
__device__ double rope_angle(std::int64_t position, std::int64_t pair, std::int64_t dim) {
  return static_cast<double>(position) * pow(10'000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

__global__ void rope_table(float2* table, std::int64_t seq, std::int64_t dim) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= seq * dim / 2) return;
  const double angle = rope_angle(i / (dim / 2), i % (dim / 2), dim);
  table[i] = make_float2(static_cast<float>(cos(angle)), static_cast<float>(sin(angle)));
}

__global__ void rope_kernel(const Eight* in, const float2* table, Eight* out, std::int64_t rows, std::int64_t vectors,
                            std::int64_t dim, std::int64_t seq) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < rows * vectors; i += step) {
    const float2* turn = table + i / vectors % seq * (dim / 2) + i % vectors * 8 % dim / 2;
    float x[8];
    unpack(in[i], x);
#pragma unroll
    for (int e = 0; e < 8; e += 2) {
      const float2 t = turn[e / 2];
      const float even = x[e];
      x[e] = even * t.x - x[e + 1] * t.y;
      x[e + 1] = even * t.y + x[e + 1] * t.x;
    }
    out[i] = pack(x);
  }
}

__global__ void add_samples(const void* a, const void* b, const void* out, std::int64_t total, double* got,
                            double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t i = sampled_element(sample, total);
  got[sample] = static_cast<double>(load_element(out, Element::bf16, i));
  expected[sample] = static_cast<double>(load_element(a, Element::bf16, i)) +
                     (b == nullptr ? 0.0 : static_cast<double>(load_element(b, Element::bf16, i)));
}

__global__ void rope_samples(const void* in, const void* out, std::int64_t rows, std::int64_t cols, std::int64_t dim,
                             std::int64_t seq, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t i = sampled_element(sample, rows * cols);
  const std::int64_t even = i / 2 * 2; // columns are even in number, so pairs do not cross rows
  const double angle = rope_angle(i / cols % seq, i % cols % dim / 2, dim);
  const double x = static_cast<double>(load_element(in, Element::bf16, even));
  const double y = static_cast<double>(load_element(in, Element::bf16, even + 1));
  got[sample] = static_cast<double>(load_element(out, Element::bf16, i));
  expected[sample] = i == even ? x * cos(angle) - y * sin(angle) : x * sin(angle) + y * cos(angle);
}

std::unique_ptr<OpCase> add_case(const GpuContext& gpu, std::int64_t elements) {
  GpuOp<CopyState> op;
  op.work.bytes = 6.0 * static_cast<double>(elements);
  op.work.footprint = 6 * static_cast<std::size_t>(elements);
  op.make = [&gpu, elements](std::uint64_t seed) {
    const auto count = static_cast<std::size_t>(elements);
    CopyState s;
    s.a = random_memory(count, Element::bf16, seed, gpu.stream());
    s.b = random_memory(count, Element::bf16, seed + 1000, gpu.stream());
    s.out = poisoned_memory(2 * count, gpu.stream());
    return s;
  };
  op.run = [&gpu, elements](CopyState& s) {
    const unsigned blocks = blocks_for(elements / 8, kThreads, 32 * gpu.sms());
    add_kernel<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.a.as<Eight>(), s.b.as<Eight>(), s.out.as<Eight>(),
                                                            elements / 8);
    CALIB_LAUNCHED(add_kernel);
  };
  op.sample = [&gpu, elements](CopyState& s, const SampleBuffer& b) {
    add_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(s.a.get(), s.b.get(), s.out.get(), elements,
                                                                          b.got(), b.expected());
    CALIB_LAUNCHED(add_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

std::unique_ptr<OpCase> rope_case(const GpuContext& gpu, std::int64_t rows, std::int64_t cols, std::int64_t dim,
                                  std::int64_t seq) {
  GpuOp<CopyState> op;
  op.work.bytes = 4.0 * static_cast<double>(rows * cols);
  op.work.footprint = 4 * static_cast<std::size_t>(rows * cols);
  op.make = [=, &gpu](std::uint64_t seed) {
    const auto count = static_cast<std::size_t>(rows * cols);
    CopyState s;
    s.a = random_memory(count, Element::bf16, seed, gpu.stream());
    s.out = poisoned_memory(2 * count, gpu.stream());
    s.table = DeviceMemory(static_cast<std::size_t>(seq * dim / 2) * sizeof(float2));
    rope_table<<<blocks_for(seq * dim / 2, kThreads), kThreads, 0, gpu.stream().get()>>>(s.table.as<float2>(), seq,
                                                                                         dim);
    CALIB_LAUNCHED(rope_table);
    return s;
  };
  op.run = [=, &gpu](CopyState& s) {
    const unsigned blocks = blocks_for(rows * cols / 8, kThreads, 32 * gpu.sms());
    rope_kernel<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.a.as<Eight>(), s.table.as<float2>(), s.out.as<Eight>(),
                                                             rows, cols / 8, dim, seq);
    CALIB_LAUNCHED(rope_kernel);
  };
  op.sample = [=, &gpu](CopyState& s, const SampleBuffer& b) {
    rope_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(s.a.get(), s.out.get(), rows, cols, dim, seq,
                                                                           b.got(), b.expected());
    CALIB_LAUNCHED(rope_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace

std::unique_ptr<OpCase> copy_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t rows = shape.dim("rows");
  const std::int64_t cols = shape.dim("cols");
  const std::int64_t dim = shape.dim("dim");
  const bool adds = shape.kernel == "add";
  if (cols % 8 != 0 || (!adds && (dim % 8 != 0 || dim == 0 || cols % dim != 0)))
    throw std::invalid_argument("copy: columns and head size must be multiples of 8");
  return adds ? add_case(gpu, rows * cols) : rope_case(gpu, rows, cols, dim, shape.dim("seq"));
}

std::unique_ptr<OpCase> memcpy_case(const GpuContext& gpu, const OpShape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.dim("bytes"));
  GpuOp<CopyState> op;
  op.work.bytes = 2.0 * static_cast<double>(bytes); // read and written
  op.work.footprint = 2 * bytes;
  op.make = [&gpu, bytes](std::uint64_t seed) {
    CopyState s;
    s.a = random_memory(bytes / 2, Element::bf16, seed, gpu.stream());
    s.out = poisoned_memory(bytes / 2 * 2, gpu.stream());
    return s;
  };
  op.run = [&gpu](CopyState& s) {
    CALIB_CUDA(cudaMemcpyAsync(s.out.get(), s.a.get(), s.a.bytes(), cudaMemcpyDeviceToDevice, gpu.stream().get()));
  };
  op.sample = [&gpu, bytes](CopyState& s, const SampleBuffer& b) {
    add_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        s.a.get(), nullptr, s.out.get(), static_cast<std::int64_t>(bytes / 2), b.got(), b.expected());
    CALIB_LAUNCHED(add_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
