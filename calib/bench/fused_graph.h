// An operation graph of cuDNN's backend, put together op by op, and the plan made of it. Only what attention needs:
// four-dimensional tensors, products, pointwise ops, reductions, transposed views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calib/bench/cudnn_library.h"

namespace tessella::calib {

using Shape4 = std::array<std::int64_t, 4>;

// Strides of a tensor without gaps, the last dimension fastest.
Shape4 packed(const Shape4& dims);

// A backend descriptor that destroys itself.
class CudnnDescriptor {
 public:
  CudnnDescriptor(std::shared_ptr<const CudnnLibrary> library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.descriptor_);
  }
  void finalize(const char* what);
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  std::shared_ptr<const CudnnLibrary> library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// A tensor of a graph; `id` binds its memory at launch. Ids of memory that the caller gives are positive and his.
struct GraphTensor {
  std::int64_t id = 0;
  Shape4 dims{};
  Shape4 strides{};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

class CudnnGraph {
 public:
  explicit CudnnGraph(std::shared_ptr<const CudnnLibrary> library) : library_(std::move(library)) {}

  // Memory that the caller binds to `id`.
  GraphTensor memory(std::int64_t id, const Shape4& dims, const Shape4& strides, cudnnDataType_t type);
  // Memory that only this graph uses: a part of the workspace.
  GraphTensor scratch(const Shape4& dims, cudnnDataType_t type);
  // A number known now.
  GraphTensor number(float value);

  // Results without memory, unless `out` is given. [b, h, m, k] x [b, h, k, n]; fewer heads of the second are shared.
  GraphTensor product(const GraphTensor& a, const GraphTensor& b, std::optional<GraphTensor> out = std::nullopt,
                      cudnnDataType_t type = CUDNN_DATA_FLOAT);
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, std::optional<GraphTensor> out = std::nullopt,
                        cudnnDataType_t type = CUDNN_DATA_FLOAT);
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& b,
                        std::optional<GraphTensor> out = std::nullopt, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  GraphTensor index(const GraphTensor& like, std::int64_t axis);
  GraphTensor select(const GraphTensor& mask, const GraphTensor& yes, const GraphTensor& no);
  // Over the dimensions in which `out` is 1 (or shares heads).
  void reduce(cudnnReduceTensorOp_t op, const GraphTensor& x, const GraphTensor& out);
  GraphTensor reduce_last(cudnnReduceTensorOp_t op, const GraphTensor& x);
  // The last two dimensions swapped; a view.
  GraphTensor transposed(const GraphTensor& x, cudnnDataType_t type);

  struct Plan;
  // With a handle for its GPU; or for a described GPU. Throws NoFusedKernel when no engine takes the graph.
  Plan plan(std::shared_ptr<const CudnnHandle> handle) const;
  Plan plan_for(const std::string& described_gpu) const;

 private:
  const CudnnDescriptor& descriptor(const GraphTensor& t) const;
  GraphTensor add_tensor(GraphTensor t, bool is_virtual, bool by_value);
  GraphTensor between(const Shape4& dims, cudnnDataType_t type);
  CudnnDescriptor pointwise_descriptor(cudnnPointwiseMode_t mode, cudnnDataType_t math) const;
  // Adds the op `how` that reads the tensors by attribute and writes y; returns y. `what` names it in complaints.
  GraphTensor add_pointwise(CudnnDescriptor how,
                            std::initializer_list<std::pair<cudnnBackendAttributeName_t, const GraphTensor*>> reads,
                            const GraphTensor& y, const char* what);
  CudnnDescriptor finished_graph(const CudnnHandle* handle) const;
  Plan plan_of(std::shared_ptr<const CudnnHandle> handle, const CudnnDescriptor* gpu) const;

  std::shared_ptr<const CudnnLibrary> library_;
  std::vector<std::pair<std::int64_t, CudnnDescriptor>> tensors_;
  std::vector<CudnnDescriptor> operations_;
  std::vector<CudnnDescriptor> parts_; // that operations refer to
  std::vector<std::pair<std::int64_t, float>> numbers_;
  std::vector<std::pair<std::int64_t, std::size_t>> scratch_; // id, bytes
  std::int64_t next_ = -1;                                    // of tensors without a caller's id
};

// What runs. Keeps everything alive that cuDNN may refer to.
struct CudnnGraph::Plan {
  std::shared_ptr<const CudnnLibrary> library;
  std::shared_ptr<const CudnnHandle> handle; // nothing for a described GPU
  std::vector<CudnnDescriptor> keep;         // the graph, the choice of engine
  std::unique_ptr<CudnnDescriptor> plan;
  std::vector<std::pair<std::int64_t, float>> numbers;
  std::vector<std::pair<std::int64_t, std::size_t>> scratch; // id, offset into the workspace
  std::size_t scratch_bytes = 0;
  std::size_t engine_bytes = 0; // follow the scratch

  std::size_t workspace_bytes() const { return scratch_bytes + engine_bytes; }
  void run(const std::vector<std::pair<std::int64_t, void*>>& memory, void* workspace) const;
};

} // namespace tessella::calib
