#include "convert/gpu_clocks.h"

#include <dlfcn.h>

namespace tprof {
namespace {

// From nvml.h, unchanged since its first version.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1, kClockMemory = 2;  // nvmlClockType_t
// nvmlClocksThrottleReason*: SwPowerCap, HwSlowdown, SwThermalSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown
constexpr unsigned long long kHeldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
constexpr unsigned kMaxGpus = 64;

}  // namespace

struct Gpus::Nvml {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*utilization)(Device, unsigned[2]) = nullptr;  // GPU, memory: percent of the driver's last interval
  int (*reasons)(Device, unsigned long long*) = nullptr;

  bool load(const std::string& name) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    auto find = [this](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // deprecated; without it the reasons are unknown
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") && find(count, "nvmlDeviceGetCount_v2") &&
           find(device, "nvmlDeviceGetHandleByIndex_v2") && find(clock, "nvmlDeviceGetClockInfo") &&
           find(utilization, "nvmlDeviceGetUtilizationRates");
  }
};

Gpus::Gpus(const std::string& library) : nvml_(std::make_unique<Nvml>()) {
  if (nvml_->load(library) && nvml_->init() == kSuccess) return;
  if (nvml_->library) dlclose(nvml_->library);
  nvml_.reset();
}

Gpus::~Gpus() {
  if (!nvml_) return;
  nvml_->shutdown();
  dlclose(nvml_->library);
}

GpuClocks Gpus::look() const {
  GpuClocks out;
  unsigned gpus = 0;
  if (!nvml_ || nvml_->count(&gpus) != kSuccess) return out;
  for (unsigned i = 0; i < gpus && i < kMaxGpus; i++) {
    Device device;
    unsigned busy[2] = {}, mhz = 0, memory_mhz = 0;
    if (nvml_->device(i, &device) != kSuccess || nvml_->utilization(device, busy) != kSuccess) continue;
    if (busy[0] == 0) continue;
    if (nvml_->clock(device, kClockSm, &mhz) != kSuccess || nvml_->clock(device, kClockMemory, &memory_mhz) != kSuccess)
      continue;
    unsigned long long reasons = 0;
    bool has_reasons = nvml_->reasons && nvml_->reasons(device, &reasons) == kSuccess;
    out.working++;
    out.mhz += mhz;
    out.memory_mhz += memory_mhz;
    out.held_down += has_reasons && (reasons & kHeldDown) ? 1 : 0;
  }
  if (!out.working) return out;
  for (double* sum : {&out.mhz, &out.memory_mhz, &out.held_down}) *sum /= out.working;
  return out;
}

}  // namespace tprof
