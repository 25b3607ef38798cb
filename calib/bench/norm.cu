// RMSNorm, forward and backward, one block per row; a row stays in shared memory between its two uses, so HBM sees 2
// passes forward (x, y) and 3 backward (x, dy, dx).
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;
constexpr float kEpsilon = 1e-6F;

struct NormState {
  DeviceMemory x, dy, gain, inverse, dgain, out;
};

__global__ void norm_forward(const Eight* x, const float* gain, Eight* y, float* inverse, int vectors) {
  extern __shared__ uint4 row_memory[];
  __shared__ float scratch[32];
  Eight* row = reinterpret_cast<Eight*>(row_memory);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * vectors;
  float squares = 0.0F;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    const Eight in = x[first + v];
    row[v] = in;
    float f[8];
    unpack(in, f);
#pragma unroll
    for (int i = 0; i < 8; ++i) squares += f[i] * f[i];
  }
  const float total = block_sum(squares, scratch);
  const float scale = rsqrtf(total / static_cast<float>(8 * vectors) + kEpsilon);
  if (threadIdx.x == 0) inverse[blockIdx.x] = scale;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float f[8];
    unpack(row[v], f); // written by this thread
#pragma unroll
    for (int i = 0; i < 8; ++i) f[i] *= scale * gain[8 * v + i];
    y[first + v] = pack(f);
  }
}

// A block walks over rows and keeps its part of the gain's gradient in shared memory; every thread owns its columns.
__global__ void norm_backward(const Eight* x, const Eight* dy, const float* gain, const float* inverse, Eight* dx,
                              float* dgain, int vectors, int rows) {
  extern __shared__ uint4 row_memory[];
  __shared__ float scratch[32];
  Eight* row_x = reinterpret_cast<Eight*>(row_memory);
  Eight* row_dy = row_x + vectors;
  float* sums = reinterpret_cast<float*>(row_dy + vectors);
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads)
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[8 * v + i] = 0.0F;
  for (int r = static_cast<int>(blockIdx.x); r < rows; r += static_cast<int>(gridDim.x)) {
    const std::int64_t first = static_cast<std::int64_t>(r) * vectors;
    const float scale = inverse[r];
    float dot = 0.0F;
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
      row_x[v] = x[first + v];
      row_dy[v] = dy[first + v];
      float a[8];
      float g[8];
      unpack(row_x[v], a);
      unpack(row_dy[v], g);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        dot += gain[8 * v + i] * g[i] * a[i];
        sums[8 * v + i] += g[i] * a[i] * scale;
      }
    }
    const float back = block_sum(dot, scratch) * scale * scale * scale / static_cast<float>(8 * vectors);
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
      float a[8];
      float g[8];
      unpack(row_x[v], a);
      unpack(row_dy[v], g);
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = scale * gain[8 * v + i] * g[i] - back * a[i];
      dx[first + v] = pack(a);
    }
  }
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads)
#pragma unroll
    for (int i = 0; i < 8; ++i) atomicAdd(&dgain[8 * v + i], sums[8 * v + i]);
}

__global__ void norm_samples(const void* x, const void* dy, const float* gain, const void* out, std::int64_t rows,
                             std::int64_t cols, bool backward, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t element = sampled_element(sample, rows * cols);
  const std::int64_t first = element / cols * cols;
  double squares = 0.0;
  double dot = 0.0;
  for (std::int64_t j = 0; j < cols; ++j) {
    const double a = static_cast<double>(load_element(x, Element::bf16, first + j));
    squares += a * a;
    if (backward)
      dot += a * static_cast<double>(gain[j]) * static_cast<double>(load_element(dy, Element::bf16, first + j));
  }
  const double n = static_cast<double>(cols);
  const double scale = 1.0 / sqrt(squares / n + 1e-6);
  const double a = static_cast<double>(load_element(x, Element::bf16, element));
  const double g = static_cast<double>(gain[element - first]);
  got[sample] = static_cast<double>(load_element(out, Element::bf16, element));
  expected[sample] = backward ? scale * g * static_cast<double>(load_element(dy, Element::bf16, element)) -
                                    dot * scale * scale * scale / n * a
                              : a * scale * g;
}

void forward(const GpuContext& gpu, const NormState& s, int rows, int vectors) {
  const std::size_t shared = static_cast<std::size_t>(vectors) * sizeof(Eight);
  norm_forward<<<static_cast<unsigned>(rows), kThreads, shared, gpu.stream().get()>>>(
      s.x.as<Eight>(), s.gain.as<float>(), s.out.as<Eight>(), s.inverse.as<float>(), vectors);
  CALIB_LAUNCHED(norm_forward);
}

void backward(const GpuContext& gpu, const NormState& s, int rows, int vectors) {
  const std::size_t shared = static_cast<std::size_t>(vectors) * (2 * sizeof(Eight) + 8 * sizeof(float));
  CALIB_CUDA(
      cudaFuncSetAttribute(norm_backward, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  const unsigned blocks = blocks_for(rows, 1, 2 * gpu.sms());
  norm_backward<<<blocks, kThreads, shared, gpu.stream().get()>>>(s.x.as<Eight>(), s.dy.as<Eight>(), s.gain.as<float>(),
                                                                  s.inverse.as<float>(), s.out.as<Eight>(),
                                                                  s.dgain.as<float>(), vectors, rows);
  CALIB_LAUNCHED(norm_backward);
}

} // namespace

std::unique_ptr<OpCase> norm_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t rows = shape.dim("rows");
  const std::int64_t cols = shape.dim("cols");
  if (cols % 8 != 0 || cols > 12288) throw std::invalid_argument("norm: columns must be a multiple of 8 up to 12288");
  const bool back = shape.op == "norm_bwd";
  const int vectors = static_cast<int>(cols / 8);
  GpuOp<NormState> op;
  const auto elements = static_cast<std::size_t>(rows * cols);
  op.work.bytes = (back ? 6.0 : 4.0) * static_cast<double>(elements);
  op.work.footprint = (back ? 6 : 4) * elements;
  op.make = [&gpu, rows, cols, elements, vectors, back](std::uint64_t seed) {
    const Stream& stream = gpu.stream();
    NormState s;
    s.x = random_memory(elements, Element::bf16, seed, stream);
    s.gain = random_memory(static_cast<std::size_t>(cols), Element::f32, seed + 1000, stream);
    s.out = poisoned_memory(2 * elements, stream);
    s.inverse = DeviceMemory(static_cast<std::size_t>(rows) * sizeof(float));
    if (!back) return s;
    s.dy = random_memory(elements, Element::bf16, seed + 2000, stream);
    s.dgain = DeviceMemory(static_cast<std::size_t>(cols) * sizeof(float));
    CALIB_CUDA(cudaMemsetAsync(s.dgain.get(), 0, s.dgain.bytes(), stream.get()));
    forward(gpu, s, static_cast<int>(rows), vectors); // for the inverse
    poison(s.out, stream);
    return s;
  };
  op.run = [&gpu, rows, vectors, back](NormState& s) {
    if (back)
      backward(gpu, s, static_cast<int>(rows), vectors);
    else
      forward(gpu, s, static_cast<int>(rows), vectors);
  };
  op.sample = [&gpu, rows, cols, back](NormState& s, const SampleBuffer& b) {
    norm_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
        s.x.get(), s.dy.get(), s.gain.as<float>(), s.out.get(), rows, cols, back, b.got(), b.expected());
    CALIB_LAUNCHED(norm_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
