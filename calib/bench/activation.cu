// SwiGLU: in[r, 2f] = gate | up, out[r, f] = silu(gate) * up, and its backward. 3 and 5 passes over r x f elements.
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 256;

struct ActivationState {
  DeviceMemory in, dout, out; // out: activations, or the gradient of `in`
};

__global__ void swiglu_forward(const Eight* in, Eight* out, std::int64_t rows, std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < rows * vectors; i += step) {
    const std::int64_t r = i / vectors;
    const std::int64_t v = i % vectors;
    float gate[8];
    float up[8];
    unpack(in[2 * r * vectors + v], gate);
    unpack(in[(2 * r + 1) * vectors + v], up);
#pragma unroll
    for (int e = 0; e < 8; ++e) gate[e] = gate[e] / (1.0F + __expf(-gate[e])) * up[e];
    out[i] = pack(gate);
  }
}

__global__ void swiglu_backward(const Eight* in, const Eight* dout, Eight* din, std::int64_t rows,
                                std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < rows * vectors; i += step) {
    const std::int64_t r = i / vectors;
    const std::int64_t v = i % vectors;
    float gate[8];
    float up[8];
    float g[8];
    unpack(in[2 * r * vectors + v], gate);
    unpack(in[(2 * r + 1) * vectors + v], up);
    unpack(dout[i], g);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float s = 1.0F / (1.0F + __expf(-gate[e]));
      const float slope = s * (1.0F + gate[e] * (1.0F - s));
      const float dup = g[e] * gate[e] * s;
      gate[e] = g[e] * up[e] * slope;
      up[e] = dup;
    }
    din[2 * r * vectors + v] = pack(gate);
    din[(2 * r + 1) * vectors + v] = pack(up);
  }
}

__global__ void swiglu_samples(const void* in, const void* dout, const void* out, std::int64_t rows, std::int64_t cols,
                               bool backward, double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t width = backward ? 2 * cols : cols;
  const std::int64_t element = sampled_element(sample, rows * width);
  const std::int64_t r = element / width;
  const std::int64_t j = element % width % cols;
  const double gate = static_cast<double>(load_element(in, Element::bf16, 2 * r * cols + j));
  const double up = static_cast<double>(load_element(in, Element::bf16, (2 * r + 1) * cols + j));
  const double s = 1.0 / (1.0 + exp(-gate));
  got[sample] = static_cast<double>(load_element(out, Element::bf16, element));
  if (!backward) {
    expected[sample] = gate * s * up;
    return;
  }
  const double g = static_cast<double>(load_element(dout, Element::bf16, r * cols + j));
  expected[sample] = element % width < cols ? g * up * s * (1.0 + gate * (1.0 - s)) : g * gate * s;
}

} // namespace

std::unique_ptr<OpCase> activation_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t rows = shape.dim("rows");
  const std::int64_t cols = shape.dim("cols");
  if (cols % 8 != 0) throw std::invalid_argument("activation: columns must be a multiple of 8");
  const bool back = shape.op == "activation_bwd";
  const auto elements = static_cast<std::size_t>(rows * cols);
  GpuOp<ActivationState> op;
  op.work.bytes = (back ? 10.0 : 6.0) * static_cast<double>(elements);
  op.work.footprint = (back ? 10 : 6) * elements;
  op.make = [&gpu, elements, back](std::uint64_t seed) {
    ActivationState s;
    s.in = random_memory(2 * elements, Element::bf16, seed, gpu.stream());
    if (back) s.dout = random_memory(elements, Element::bf16, seed + 1000, gpu.stream());
    s.out = poisoned_memory((back ? 4 : 2) * elements, gpu.stream());
    return s;
  };
  op.run = [&gpu, rows, cols, back](ActivationState& s) {
    const std::int64_t vectors = cols / 8;
    const unsigned blocks = blocks_for(rows * vectors, kThreads, 32 * gpu.sms());
    if (back) {
      swiglu_backward<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.in.as<Eight>(), s.dout.as<Eight>(),
                                                                   s.out.as<Eight>(), rows, vectors);
      CALIB_LAUNCHED(swiglu_backward);
    } else {
      swiglu_forward<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.in.as<Eight>(), s.out.as<Eight>(), rows, vectors);
      CALIB_LAUNCHED(swiglu_forward);
    }
  };
  op.sample = [&gpu, rows, cols, back](ActivationState& s, const SampleBuffer& b) {
    swiglu_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(s.in.get(), s.dout.get(), s.out.get(),
                                                                             rows, cols, back, b.got(), b.expected());
    CALIB_LAUNCHED(swiglu_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
