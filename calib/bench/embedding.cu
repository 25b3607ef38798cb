// Embedding: lookup (copies a row per token; 2 passes) and the gradient's scatter-add into an fp32 table (reads the
// bf16 gradient, reads and writes fp32: 10 bytes per element).
#include <random>
#include <stdexcept>

#include "calib/bench/bench_table.h"
#include "calib/bench/elements.cuh"
#include "calib/bench/gpu_case.h"

namespace tessella::calib {
namespace {

constexpr int kThreads = 128;

struct EmbeddingState {
  DeviceMemory table; // bf16 weights, or fp32 gradients
  DeviceMemory rows;
  DeviceMemory ids;
};

__global__ void lookup_kernel(const Eight* table, const int* ids, Eight* rows, int vectors) {
  const Eight* from = table + static_cast<std::int64_t>(ids[blockIdx.x]) * vectors;
  Eight* to = rows + static_cast<std::int64_t>(blockIdx.x) * vectors;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) to[v] = from[v];
}

__global__ void scatter_add_kernel(const Eight* rows, const int* ids, float* table, int vectors) {
  const std::int64_t from = static_cast<std::int64_t>(blockIdx.x) * vectors;
  float* to = table + static_cast<std::int64_t>(ids[blockIdx.x]) * vectors * 8;
  for (int v = static_cast<int>(threadIdx.x); v < vectors; v += kThreads) {
    float f[8];
    unpack(rows[from + v], f);
#pragma unroll
    for (int i = 0; i < 8; ++i) atomicAdd(to + 8 * v + i, f[i]);
  }
}

__global__ void lookup_samples(const void* table, const int* ids, const void* rows, std::int64_t n, std::int64_t cols,
                               double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t element = sampled_element(sample, n * cols);
  got[sample] = static_cast<double>(load_element(rows, Element::bf16, element));
  expected[sample] = static_cast<double>(
      load_element(table, Element::bf16, static_cast<std::int64_t>(ids[element / cols]) * cols + element % cols));
}

// Rows of ids that occur: the sum over all tokens with that id.
__global__ void scatter_samples(const void* rows, const int* ids, const float* table, std::int64_t n, std::int64_t cols,
                                double* got, double* expected) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t element = sampled_element(sample, n * cols);
  const int id = ids[element / cols];
  const std::int64_t j = element % cols;
  double sum = 0.0;
  for (std::int64_t r = 0; r < n; ++r)
    if (ids[r] == id) sum += static_cast<double>(load_element(rows, Element::bf16, r * cols + j));
  got[sample] = static_cast<double>(table[static_cast<std::int64_t>(id) * cols + j]);
  expected[sample] = sum;
}

DeviceMemory random_ids(const GpuContext& gpu, std::int64_t n, std::int64_t vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(vocab)));
  DeviceMemory memory(ids.size() * sizeof(int));
  CALIB_CUDA(cudaMemcpyAsync(memory.get(), ids.data(), memory.bytes(), cudaMemcpyHostToDevice, gpu.stream().get()));
  gpu.stream().wait(); // the vector ends here
  return memory;
}

} // namespace

std::unique_ptr<OpCase> embedding_gpu_case(const GpuContext& gpu, const OpShape& shape) {
  const std::int64_t n = shape.dim("rows");
  const std::int64_t cols = shape.dim("cols");
  const std::int64_t vocab = shape.dim("vocab");
  if (cols % 8 != 0) throw std::invalid_argument("embedding: columns must be a multiple of 8");
  const bool lookup = shape.kernel == "lookup";
  const auto table = static_cast<std::size_t>(vocab * cols);
  const auto elements = static_cast<std::size_t>(n * cols);
  GpuOp<EmbeddingState> op;
  op.work.bytes = (lookup ? 4.0 : 10.0) * static_cast<double>(elements);
  op.work.footprint = table * (lookup ? 2 : 4) + 2 * elements;
  op.make = [=, &gpu](std::uint64_t seed) {
    EmbeddingState s;
    s.ids = random_ids(gpu, n, vocab, seed);
    if (lookup) {
      s.table = random_memory(table, Element::bf16, seed, gpu.stream());
      s.rows = poisoned_memory(2 * elements, gpu.stream());
      return s;
    }
    s.rows = random_memory(elements, Element::bf16, seed, gpu.stream());
    s.table = DeviceMemory(4 * table);
    CALIB_CUDA(cudaMemsetAsync(s.table.get(), 0, s.table.bytes(), gpu.stream().get()));
    return s;
  };
  op.run = [=, &gpu](EmbeddingState& s) {
    const auto blocks = static_cast<unsigned>(n);
    const int vectors = static_cast<int>(cols / 8);
    if (lookup)
      lookup_kernel<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.table.as<Eight>(), s.ids.as<int>(),
                                                                 s.rows.as<Eight>(), vectors);
    else
      scatter_add_kernel<<<blocks, kThreads, 0, gpu.stream().get()>>>(s.rows.as<Eight>(), s.ids.as<int>(),
                                                                      s.table.as<float>(), vectors);
    CALIB_LAUNCHED(embedding);
  };
  op.sample = [=, &gpu](EmbeddingState& s, const SampleBuffer& b) {
    if (lookup)
      lookup_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
          s.table.get(), s.ids.as<int>(), s.rows.get(), n, cols, b.got(), b.expected());
    else
      scatter_samples<<<kSampleBlocks, kSampleThreads, 0, gpu.stream().get()>>>(
          s.rows.get(), s.ids.as<int>(), s.table.as<float>(), n, cols, b.got(), b.expected());
    CALIB_LAUNCHED(embedding_samples);
  };
  return gpu_case_of(gpu, std::move(op));
}

} // namespace tessella::calib
