// The arguments of an NVTX range or mark in traces.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace tprof::kineto {

// Keys, and values as plain text; the ones that are numbers in JSON are those of is_number.
struct NvtxArgument {
  const char* key;
  std::string value;
  bool is_number = false;
};
std::vector<NvtxArgument> nvtx_arguments(const Model& model, const NvtxDetail& detail);

}  // namespace tprof::kineto
