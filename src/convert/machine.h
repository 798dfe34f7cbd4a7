// The state of the machine beside the program: the load of its CPUs, what other processes and the host took of them,
// their clock, and the clocks of GPUs. The finisher, a process of its own, samples it four times a second, and each
// trace states the figures of its span: with them `tprof diff` distinguishes a slower machine from a slower program.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "base/types.h"
#include "model/machine.h"

namespace tprof {

// One sample. Counters count from the start of the machine or the process; negative: not known.
struct MachineLook {
  u64 realtime_ns = 0;
  double busy_s = -1, stolen_s = -1;  // of all CPUs: used by any process; taken by the host
  double own_s = -1;                  // of the program
  double cpus = -1;                   // on which the program may run
  double waited_s = -1;               // waiting time of its main thread, ready to run
  double load = -1, cpu_mhz = -1;
  double gpu_mhz = -1, gpu_memory_mhz = -1, gpu_held_down = -1;  // of GPUs in use
};

// Where the figures are read; tests set other paths.
struct MachinePlaces {
  std::string proc = "/proc", gpu = "/dev/nvidia", cpu = "/sys/devices/system/cpu", nvml = "libnvidia-ml.so.1";
};

class Gpus;

class Machine {
 public:
  explicit Machine(u32 pid, MachinePlaces places = {});
  ~Machine();

  MachineLook look();
  // Takes a sample if the last one is old enough, four times a second. `moment`: a value that changes when a window
  // begins or ends; after that the next twenty calls take a sample each, since windows may be short.
  void look_now_and_then(u64 moment);
  // Figures from the last sample before `begin` to the first one after `end`; not known if there was none before `end`.
  MachineFigures between(u64 begin_realtime_ns, u64 end_realtime_ns) const;
  void add(const MachineLook& look);  // in order of time

  static constexpr u64 kPause_ns = 250'000'000;
  static constexpr size_t kMaxLooks = 4096;  // then every second sample is dropped, and the pause doubles

 private:
  void look_at_program(MachineLook& look) const;
  bool program_uses_gpu();

  const u32 pid_;
  const MachinePlaces places_;
  std::unique_ptr<Gpus> gpus_;              // set once the program has opened a GPU, because loading NVML may wake them
  u64 samples_taken_ = 0, next_check_ = 1;  // that is checked at sample 1, 2, 4, 8 ...
  u64 next_ns_ = 0, pause_ns_ = kPause_ns;
  u64 moment_ = ~u64(0);
  int close_looks_ = 0;       // calls that take a sample at once
  mutable std::mutex mutex_;  // of looks_: traces are written by other threads
  std::vector<MachineLook> looks_;
};

}  // namespace tprof
