// A tiny model, trained and asked about CUDA as libraries do, in a process of its own: whatever happens there is
// reported. It is profiled; if it fails, it is tried without tprof and without the GPU's side.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace tprof::doctor {

struct Trial {
  std::map<std::string, std::string> said;  // of torch, by name: "version", "cuda", "available", "device"
  std::vector<Finding> findings;
};

Trial try_model(const std::string& python);

}  // namespace tprof::doctor
