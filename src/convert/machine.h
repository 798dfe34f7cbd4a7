// What the machine did beside the program: its processors' load, what others and the host took of them, their clock,
// and the clocks of GPUs. The finisher looks four times a second, from a process of its own, and each trace is told
// what held while it was recorded: by that `tprof diff` tells a slower machine from a slower program.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "base/types.h"
#include "model/machine.h"

namespace tprof {

// One look. Counters have grown since the machine or the process began; negative: not known.
struct MachineLook {
  u64 realtime_ns = 0;
  double busy_s = -1, stolen_s = -1;  // of all CPUs: spent on any process; taken by the host
  double own_s = -1;                  // of the program
  double waited_s = -1;               // its main thread, ready to run
  double load = -1, cpu_mhz = -1;
  double gpu_mhz = -1, gpu_memory_mhz = -1, gpu_held_down = -1;  // of GPUs that work
};

// Where to look; other places for tests.
struct MachinePlaces {
  std::string proc = "/proc", gpu = "/dev/nvidia", cpu = "/sys/devices/system/cpu", nvml = "libnvidia-ml.so.1";
};

class Gpus;

class Machine {
 public:
  explicit Machine(u32 pid, MachinePlaces places = {});
  ~Machine();

  MachineLook look();
  // Four times a second. `moment`: anything that changes where a window begins or ends; twenty looks behind that come
  // as often as they are asked for, since windows may be short.
  void look_now_and_then(u64 moment);
  // Between the last look before and the first one behind; not known where there was none before `end`.
  MachineFigures between(u64 begin_realtime_ns, u64 end_realtime_ns) const;
  void add(const MachineLook& look);  // in order of time

  static constexpr u64 kPause_ns = 250'000'000;
  static constexpr size_t kMaxLooks = 4096;  // then every second one goes, and the pause doubles

 private:
  void look_at_program(MachineLook& look) const;
  bool program_uses_gpu();

  const u32 pid_;
  const MachinePlaces places_;
  std::unique_ptr<Gpus> gpus_;         // once the program has opened one: loading NVML may wake them
  u64 looks_taken_ = 0, asks_at_ = 1;  // whether it has is asked at the first look, the second, the fourth ...
  u64 next_ns_ = 0, pause_ns_ = kPause_ns;
  u64 moment_ = ~u64(0);
  int close_looks_ = 0;       // to come
  mutable std::mutex mutex_;  // of looks_: traces are written by other threads
  std::vector<MachineLook> looks_;
};

}  // namespace tprof
