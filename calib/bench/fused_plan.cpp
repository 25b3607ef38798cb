// From a graph to a plan that runs: cuDNN proposes engines, the first that can be built is taken, as frameworks do.
#include <fmt/format.h>

#include "calib/bench/fused_graph.h"
#include "sim/base/check.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kStep = 256; // of offsets into the workspace
constexpr std::size_t kMostEngines = 16;

// Engines for a graph, best guess first.
std::vector<CudnnDescriptor> proposals(const std::shared_ptr<const CudnnLibrary>& library, const CudnnDescriptor& graph,
                                       const CudnnDescriptor* gpu) {
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (gpu != nullptr) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *gpu);
  heuristic.finalize("asking for engines");
  std::vector<CudnnDescriptor> engines;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::size_t i = 0; i < kMostEngines; ++i) {
    engines.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(engines.back().get());
  }
  std::int64_t found = 0;
  library->check(library->get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                        static_cast<std::int64_t>(raw.size()), &found, raw.data()),
                 "asking for engines");
  while (static_cast<std::int64_t>(engines.size()) > found) engines.pop_back();
  return engines;
}

std::size_t engine_workspace(const CudnnLibrary& library, const CudnnDescriptor& plan) {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  library.check(
      library.get_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes),
      "asking for the workspace");
  TSL_CHECK(bytes >= 0);
  return static_cast<std::size_t>(bytes);
}

} // namespace

CudnnDescriptor CudnnGraph::finished_graph(const CudnnHandle* handle) const {
  std::vector<cudnnBackendDescriptor_t> ops;
  for (const CudnnDescriptor& op : operations_) ops.push_back(op.get());
  CudnnDescriptor graph(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(ops.size()),
            ops.data());
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle->get());
  graph.finalize("the graph of attention");
  return graph;
}

CudnnGraph::Plan CudnnGraph::plan_of(std::shared_ptr<const CudnnHandle> handle, const CudnnDescriptor* gpu) const {
  Plan p;
  p.library = library_;
  p.handle = std::move(handle);
  p.numbers = numbers_;
  for (const auto& [id, bytes] : scratch_) {
    p.scratch.emplace_back(id, p.scratch_bytes);
    p.scratch_bytes += (bytes + kStep - 1) / kStep * kStep;
  }
  p.keep.push_back(finished_graph(p.handle.get()));
  std::string why = fmt::format("cuDNN {} proposes no engine for it", library_->version());
  for (CudnnDescriptor& engine : proposals(library_, p.keep.front(), gpu)) {
    auto plan = std::make_unique<CudnnDescriptor>(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
    if (p.handle) plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, p.handle->get());
    if (gpu != nullptr) plan->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *gpu);
    try {
      plan->finalize("the plan");
    } catch (const NoFusedKernel& error) {
      why = error.what();
      continue; // the next proposal
    }
    p.engine_bytes = engine_workspace(*library_, *plan);
    p.plan = std::move(plan);
    p.keep.push_back(std::move(engine));
    return p;
  }
  throw NoFusedKernel(why);
}

CudnnGraph::Plan CudnnGraph::plan(std::shared_ptr<const CudnnHandle> handle) const {
  return plan_of(std::move(handle), nullptr);
}

CudnnGraph::Plan CudnnGraph::plan_for(const std::string& described_gpu) const {
  CudnnDescriptor gpu(library_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  gpu.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(described_gpu.size()),
          described_gpu.data());
  gpu.finalize("the description of a GPU");
  Plan p = plan_of(nullptr, &gpu);
  p.keep.push_back(std::move(gpu));
  return p;
}

void CudnnGraph::Plan::run(const std::vector<std::pair<std::int64_t, void*>>& memory, void* workspace) const {
  TSL_CHECK(handle != nullptr);
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  const auto bind = [&](std::int64_t id, void* at) {
    ids.push_back(id);
    pointers.push_back(at);
  };
  for (const auto& m : memory) bind(m.first, m.second);
  for (const auto& s : scratch) bind(s.first, static_cast<std::byte*>(workspace) + s.second);
  std::vector<float> values;
  values.reserve(numbers.size()); // bound by address
  for (const auto& n : numbers) bind(n.first, &values.emplace_back(n.second));
  void* const engine = static_cast<std::byte*>(workspace) + scratch_bytes;
  CudnnDescriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto count = static_cast<std::int64_t>(ids.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, engine);
  pack.finalize("the arguments of a launch");
  library->check(library->execute(handle->get(), plan->get(), pack.get()), "a launch");
}

} // namespace tessella::calib
