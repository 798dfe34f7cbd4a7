// Clocks of the GPUs of the machine, from NVML, the library of the driver, if it is available.
#pragma once
#include <memory>
#include <string>

#include "base/types.h"

namespace tprof {

struct GpuClocks {
  u32 working = 0;                 // GPUs in use
  double mhz = 0, memory_mhz = 0;  // means over them
  double held_down = 0;            // share of them whose clock is reduced because of heat or power
};

class Gpus {
 public:
  explicit Gpus(const std::string& library);
  ~Gpus();
  GpuClocks look() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;  // null: there is none
};

}  // namespace tprof
