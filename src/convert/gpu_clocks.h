// Clocks of the machine's GPUs by NVML, the driver's library, where it is at hand.
#pragma once
#include <memory>
#include <string>

#include "base/types.h"

namespace tprof {

struct GpuClocks {
  u32 working = 0;  // GPUs that were in use; of these the means:
  double mhz = 0, memory_mhz = 0;
  double held_down = 0;  // share of them whose clock is held down by heat or power
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
