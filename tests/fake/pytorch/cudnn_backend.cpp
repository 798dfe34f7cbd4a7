// cuDNN's graphs, as PyTorch's convolutions use them: descriptors keep what they are told. Every graph has one engine,
// which needs no workspace and runs as one kernel, named by the graph's first operation.
#include <algorithm>

#include "cudnn_parts.h"

using namespace sim::standin;

namespace {

struct Attribute {
  int64_t count = 0;
  std::string bytes;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;

  const Descriptor* other(cudnnBackendAttributeName_t name) const {
    auto found = attributes.find(name);
    if (found == attributes.end() || found->second.count == 0) return nullptr;
    return *reinterpret_cast<Descriptor* const*>(found->second.bytes.data());
  }
};

Descriptor& of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Descriptor*>(descriptor); }

size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_FRACTION: return 16;
    default: return 4;
  }
}

// How many an attribute has that nobody set. A number is 0 then. Descriptors are the caller's own, to be filled.
int64_t own_count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE;
  return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BOOLEAN;
}

const char* kernel_for(const Descriptor* plan) {
  const Descriptor* config = plan->other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor* engine = config != nullptr ? config->other(CUDNN_ATTR_ENGINECFG_ENGINE) : nullptr;
  const Descriptor* graph = engine != nullptr ? engine->other(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) : nullptr;
  const Descriptor* operation = graph != nullptr ? graph->other(CUDNN_ATTR_OPERATIONGRAPH_OPS) : nullptr;
  switch (operation != nullptr ? int(operation->type) : -1) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage4_warpsize2x2x1_"
             "g1_tensor16x8x8_execute_kernel__5x_cudnn";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage4_warpsize2x2x1_"
             "g1_tensor16x8x8_execute_kernel__5x_cudnn";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage4_"
             "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn";
    default: return "cudnn_generated_fort_native_graph_knob_0";
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  *made = new Descriptor{type, {}};
  return CUDNN_STATUS_SUCCESS;
}

// Kept: other descriptors may point to it.
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  size_t bytes = elements != nullptr ? size_t(count) * element_bytes(type) : 0;
  of(descriptor).attributes[name] = {count, std::string(static_cast<const char*>(elements), bytes)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                                       void* elements) {
  Descriptor& from = of(descriptor);
  auto set = from.attributes.find(name);
  bool known = set != from.attributes.end();
  int64_t all = known ? set->second.count : own_count(name, type);
  if (count != nullptr) *count = all;
  if (elements == nullptr || wanted <= 0 || all == 0) return CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    auto* engine = new Descriptor{CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}};
    engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = from.attributes[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH];
    of(*static_cast<cudnnBackendDescriptor_t*>(elements)).attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {
        1, std::string(reinterpret_cast<const char*>(&engine), sizeof engine)};
  } else if (known && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto* given = static_cast<cudnnBackendDescriptor_t*>(elements);
    auto* ours = reinterpret_cast<const cudnnBackendDescriptor_t*>(set->second.bytes.data());
    for (int64_t i = 0; i < std::min(wanted, all); i++) of(given[i]) = of(ours[i]);
  } else if (known) {
    memcpy(elements, set->second.bytes.data(), size_t(std::min(wanted, all)) * element_bytes(type));
  } else if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    memset(elements, 0, element_bytes(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
  return launch(kernel_for(&of(plan)), at(handle).stream) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
