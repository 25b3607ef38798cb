#include "calib/bench/fused_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"

namespace tessella::calib {
namespace {

constexpr std::int64_t kAlignment = 16; // of all tensors
constexpr cudnnDataType_t kMath = CUDNN_DATA_FLOAT;

std::size_t bytes_of(const GraphTensor& t) {
  std::size_t n = t.type == CUDNN_DATA_FLOAT ? 4 : 2;
  for (const std::int64_t d : t.dims) n *= static_cast<std::size_t>(d);
  return n;
}

Shape4 broadcast(const Shape4& a, const Shape4& b) {
  Shape4 c{};
  for (std::size_t i = 0; i < 4; ++i) c[i] = std::max(a[i], b[i]);
  return c;
}

} // namespace

Shape4 packed(const Shape4& d) {
  return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}

CudnnDescriptor::CudnnDescriptor(std::shared_ptr<const CudnnLibrary> library, cudnnBackendDescriptorType_t type)
    : library_(std::move(library)) {
  library_->check(library_->create_descriptor(type, &descriptor_), "creating a descriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) library_->destroy_descriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  library_->check(library_->set_attribute(descriptor_, name, type, count, values), "setting an attribute");
}

void CudnnDescriptor::finalize(const char* what) {
  library_->check(library_->finalize(descriptor_), what);
}

const CudnnDescriptor& CudnnGraph::descriptor(const GraphTensor& t) const {
  const auto it = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& e) { return e.first == t.id; });
  TSL_CHECK(it != tensors_.end());
  return it->second;
}

GraphTensor CudnnGraph::add_tensor(GraphTensor t, bool is_virtual, bool by_value) {
  CudnnDescriptor d(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, t.id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, t.type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t.dims.data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t.strides.data());
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
  d.finalize("a tensor");
  tensors_.emplace_back(t.id, std::move(d));
  return t;
}

GraphTensor CudnnGraph::memory(std::int64_t id, const Shape4& dims, const Shape4& strides, cudnnDataType_t type) {
  return add_tensor({id, dims, strides, type}, false, false);
}

GraphTensor CudnnGraph::scratch(const Shape4& dims, cudnnDataType_t type) {
  const GraphTensor t = add_tensor({next_--, dims, packed(dims), type}, false, false);
  scratch_.emplace_back(t.id, bytes_of(t));
  return t;
}

GraphTensor CudnnGraph::number(float value) {
  const GraphTensor t = add_tensor({next_--, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT}, false, true);
  numbers_.emplace_back(t.id, value);
  return t;
}

GraphTensor CudnnGraph::between(const Shape4& dims, cudnnDataType_t type) {
  return add_tensor({next_--, dims, packed(dims), type}, true, false);
}

GraphTensor CudnnGraph::product(const GraphTensor& a, const GraphTensor& b, std::optional<GraphTensor> out,
                                cudnnDataType_t type) {
  const GraphTensor c = out ? *out : between({a.dims[0], a.dims[1], a.dims[2], b.dims[3]}, type);
  CudnnDescriptor how(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, kMath);
  how.finalize("a product");
  CudnnDescriptor op(library_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, descriptor(a));
  op.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, descriptor(b));
  op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, descriptor(c));
  op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  op.finalize("a product");
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(op));
  return c;
}

CudnnDescriptor CudnnGraph::pointwise_descriptor(cudnnPointwiseMode_t mode, cudnnDataType_t math) const {
  CudnnDescriptor how(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, math);
  return how;
}

GraphTensor
CudnnGraph::add_pointwise(CudnnDescriptor how,
                          std::initializer_list<std::pair<cudnnBackendAttributeName_t, const GraphTensor*>> reads,
                          const GraphTensor& y, const char* what) {
  how.finalize(what);
  CudnnDescriptor op(library_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  for (const auto& [attribute, tensor] : reads) op.set(attribute, descriptor(*tensor));
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, descriptor(y));
  op.finalize(what);
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(op));
  return y;
}

GraphTensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, std::optional<GraphTensor> out,
                                  cudnnDataType_t type) {
  const GraphTensor y = out ? *out : between(x.dims, type);
  return add_pointwise(pointwise_descriptor(mode, kMath), {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &x}}, y,
                       "a pointwise op");
}

GraphTensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& b,
                                  std::optional<GraphTensor> out, cudnnDataType_t type) {
  const GraphTensor y = out ? *out : between(broadcast(x.dims, b.dims), type);
  return add_pointwise(pointwise_descriptor(mode, type == CUDNN_DATA_BOOLEAN ? CUDNN_DATA_BOOLEAN : kMath),
                       {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &x}, {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &b}}, y,
                       "a pointwise op");
}

GraphTensor CudnnGraph::index(const GraphTensor& like, std::int64_t axis) {
  const GraphTensor y = between(like.dims, CUDNN_DATA_INT32);
  CudnnDescriptor how = pointwise_descriptor(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32);
  how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  return add_pointwise(std::move(how), {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &like}}, y, "an index");
}

GraphTensor CudnnGraph::select(const GraphTensor& mask, const GraphTensor& yes, const GraphTensor& no) {
  const GraphTensor y = between(yes.dims, CUDNN_DATA_FLOAT);
  return add_pointwise(pointwise_descriptor(CUDNN_POINTWISE_BINARY_SELECT, kMath),
                       {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &yes},
                        {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &no},
                        {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, &mask}},
                       y, "a selection");
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t op_kind, const GraphTensor& x, const GraphTensor& out) {
  CudnnDescriptor how(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, op_kind);
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, kMath);
  how.finalize("a reduction");
  CudnnDescriptor op(library_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, descriptor(x));
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, descriptor(out));
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  op.finalize("a reduction");
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(op));
}

GraphTensor CudnnGraph::reduce_last(cudnnReduceTensorOp_t op, const GraphTensor& x) {
  const GraphTensor y = between({x.dims[0], x.dims[1], x.dims[2], 1}, CUDNN_DATA_FLOAT);
  reduce(op, x, y);
  return y;
}

GraphTensor CudnnGraph::transposed(const GraphTensor& x, cudnnDataType_t type) {
  GraphTensor y{next_--, x.dims, x.strides, type};
  std::swap(y.dims[2], y.dims[3]);
  std::swap(y.strides[2], y.strides[3]);
  add_tensor(y, true, false);
  CudnnDescriptor op(library_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, descriptor(x));
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, descriptor(y));
  op.finalize("a transposition");
  operations_.push_back(std::move(op));
  return y;
}

} // namespace tessella::calib
