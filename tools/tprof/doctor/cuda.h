// The driver of NVIDIA's GPUs: what the kernel has of it, whether it answers, and what keeps CUPTI from recording.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace tprof::doctor {

// `python`: one that runs, or "". `torch`: what torch said of CUDA, see Trial::said.
std::vector<Finding> look_at_cuda(const std::string& python, const std::map<std::string, std::string>& torch);

}  // namespace tprof::doctor
