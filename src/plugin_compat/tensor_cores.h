// Tensor cores by the plugin's rules: which kernels use them, and which could, by the operators that launched them.
#pragma once
#include <map>

#include "model/plugin_trace.h"
#include "model/trace.h"

namespace tprof {

struct PluginTensorCores {
  // Shares of kernel time, 0 to 1.
  std::map<u32, double> of_device;  // of kernels that operators launched; empty: there are none
  double of_kernels = 0;            // of all kernels
  double eligible = 0;  // launched by the innermost operators that could use them, of what operators launched
};

PluginTensorCores plugin_tensor_cores(const Model& model, const PluginTrace& trace);

}  // namespace tprof
