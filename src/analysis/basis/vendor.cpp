#include "analysis/basis/vendor.h"

#include <algorithm>

namespace tprof {
namespace {

constexpr u32 kAmdWarp = 64;  // threads of a wavefront of CDNA and GCN; NVIDIA's warps have 32

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
}

// "cudaLaunchKernel", "cuLaunchKernelEx", but not "custom..."
bool is_cuda(std::string_view call) {
  return call.starts_with("cuda") || (call.starts_with("cu") && call.size() > 2 && call[2] >= 'A' && call[2] <= 'Z');
}

}  // namespace

Vendor vendor_of(const Model& model) {
  bool others = false;
  for (const CallEvent& call : model.calls) {
    const std::string& name = model.names[call.name];
    if (name.starts_with("hip")) return Vendor::amd;
    if (is_cuda(name)) return Vendor::nvidia;
    others = true;
  }
  for (const auto& [number, device] : model.devices) {
    std::string_view name = device.name;
    if (begins_with_any(name, {"AMD", "Radeon"}) || device.warp_size == kAmdWarp) return Vendor::amd;
    if (begins_with_any(name, {"NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN", "GRID"})) return Vendor::nvidia;
    others |= begins_with_any(name, {"Intel"});
  }
  return others ? Vendor::other : Vendor::nvidia;
}

}  // namespace tprof
