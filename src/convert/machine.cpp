#include "convert/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "convert/gpu_clocks.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file of /proc or /sys; empty if there is none.
std::string head_of(const std::string& path) {
  std::string out(8192, 0);
  FILE* file = fopen(path.c_str(), "re");
  if (!file) return "";
  out.resize(fread(out.data(), 1, out.size(), file));
  fclose(file);
  return out;
}

double number_of(const std::string& text) {
  char* rest;
  double value = strtod(text.c_str(), &rest);
  return rest == text.c_str() ? -1 : value;
}

// The line `cpu` of /proc/stat, in ticks of the kernel: user nice system idle iowait irq softirq steal. The time of
// guests of this machine is part of user and nice.
void read_stat(const std::string& text, MachineLook& look) {
  unsigned long long user, nice, system, idle, waiting, irq, softirq, steal;
  if (sscanf(text.c_str(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting, &irq,
             &softirq, &steal) != 8)
    return;
  auto ticks = double(sysconf(_SC_CLK_TCK));
  look.busy_s = double(user + nice + system + irq + softirq) / ticks;
  look.stolen_s = double(steal) / ticks;
}

// From /proc/<pid>/status, "Cpus_allowed:\tff,ffffffff".
double allowed_cpus(const std::string& status) {
  size_t at = status.find("\nCpus_allowed:");
  if (at == std::string::npos) return -1;
  int count = 0;
  for (size_t i = status.find(':', at) + 1; i < status.size() && status[i] != '\n'; i++)
    if (isxdigit(static_cast<unsigned char>(status[i])))
      count += std::popcount(unsigned(strtoul(std::string(1, status[i]).c_str(), nullptr, 16)));
  return count ? count : -1;
}

}  // namespace

Machine::Machine(u32 pid, MachinePlaces places) : pid_(pid), places_(std::move(places)) {}
Machine::~Machine() = default;

// Decided by its open files. There may be thousands of them, so the pauses between the checks double.
bool Machine::program_uses_gpu() {
  if (++samples_taken_ < next_check_) return false;
  next_check_ *= 2;
  if (access((places_.gpu + "ctl").c_str(), F_OK) != 0) return false;
  std::error_code why;
  fs::directory_iterator at(places_.proc + "/" + std::to_string(pid_) + "/fd", why), end;
  for (; !why && at != end; at.increment(why)) {
    std::error_code closed;
    if (fs::read_symlink(at->path(), closed).string().starts_with(places_.gpu)) return true;
  }
  return false;
}

MachineLook Machine::look() {
  MachineLook out;
  out.realtime_ns = clock_ns(CLOCK_REALTIME);
  read_stat(head_of(places_.proc + "/stat"), out);
  out.load = number_of(head_of(places_.proc + "/loadavg"));
  look_at_program(out);
  if (!gpus_ && program_uses_gpu()) gpus_ = std::make_unique<Gpus>(places_.nvml);
  if (!gpus_) return out;
  if (GpuClocks clocks = gpus_->look(); clocks.working)
    out.gpu_mhz = clocks.mhz, out.gpu_memory_mhz = clocks.memory_mhz, out.gpu_held_down = clocks.held_down;
  return out;
}

// Its CPU time, the waiting time of its main thread, and the clock of the CPU where that ran last.
void Machine::look_at_program(MachineLook& look) const {
  std::string home = places_.proc + "/" + std::to_string(pid_);
  std::string stat = head_of(home + "/stat");
  size_t name_end = stat.rfind(')');
  unsigned long long user, system;
  int cpu = -1;
  // Fields 14, 15 and 39 of proc(5); after the name comes field 3.
  if (name_end == std::string::npos ||
      sscanf(stat.c_str() + name_end + 1,
             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %*d %*u %*u "
             "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
             &user, &system, &cpu) != 3)
    return;
  look.own_s = double(user + system) / double(sysconf(_SC_CLK_TCK));
  look.cpus = allowed_cpus(head_of(home + "/status"));
  unsigned long long ran_ns, waited_ns;
  if (sscanf(head_of(home + "/schedstat").c_str(), "%llu %llu", &ran_ns, &waited_ns) == 2 && ran_ns)
    look.waited_s = double(waited_ns) / 1e9;
  double khz = number_of(head_of(places_.cpu + "/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq"));
  if (khz > 0) look.cpu_mhz = khz / 1000;
}

void Machine::look_now_and_then(u64 moment) {
  constexpr int kCloseLooks = 20;
  u64 now = clock_ns(CLOCK_MONOTONIC);
  if (moment != moment_) close_looks_ = kCloseLooks;
  moment_ = moment;
  if (now < next_ns_ && close_looks_ == 0) return;
  close_looks_ -= close_looks_ > 0;
  add(look());
  next_ns_ = now + pause_ns_;
}

void Machine::add(const MachineLook& look) {
  std::lock_guard lock(mutex_);
  looks_.push_back(look);
  if (looks_.size() < kMaxLooks) return;
  for (size_t i = 0; i < looks_.size() / 2; i++) looks_[i] = looks_[2 * i];
  looks_.resize(looks_.size() / 2);
  pause_ns_ *= 2;
}

MachineFigures Machine::between(u64 begin, u64 end) const {
  std::lock_guard lock(mutex_);
  auto figures = no_machine_figures();
  auto is_until = [](const MachineLook& look, u64 ns) { return look.realtime_ns <= ns; };
  const MachineLook *all = looks_.data(), *all_end = all + looks_.size();
  const MachineLook* first = std::lower_bound(all, all_end, begin, is_until);
  if (first != all) --first;
  const MachineLook* last = std::lower_bound(first, all_end, end, is_until);
  if (last != all_end) ++last;
  if (last - first < 2 || first->realtime_ns >= end) return figures;
  auto put = [&](MachineFigure figure, double value) { figures[u32(figure)] = value; };
  // After the program has ended, samples do not have its figures, so the last sample that has them counts.
  auto grown = [&](double MachineLook::*what, double& seconds) {
    const MachineLook *from = first, *to = last;
    while (from != last && from->*what < 0) ++from;
    while (to != from && (to - 1)->*what < 0) --to;
    if (to - from < 2) return -1.0;
    --to;
    seconds = double(to->realtime_ns - from->realtime_ns) / 1e9;
    return seconds > 0 ? to->*what - from->*what : -1.0;
  };
  auto mean = [&](double MachineLook::*what) {
    double sum = 0, n = 0;
    for (const MachineLook* look = first; look != last; ++look)
      if (look->*what >= 0) sum += look->*what, n++;
    return n ? sum / n : std::nan("");
  };
  double seconds = 1, own_seconds = 1;
  double busy = grown(&MachineLook::busy_s, seconds), own = grown(&MachineLook::own_s, own_seconds);
  if (own >= 0) put(MachineFigure::own_cpus, own / own_seconds);
  if (busy >= 0 && own >= 0) put(MachineFigure::other_cpus, std::max(0.0, busy / seconds - own / own_seconds));
  if (double stolen = grown(&MachineLook::stolen_s, seconds); stolen >= 0)
    put(MachineFigure::stolen_cpus, stolen / seconds);
  if (double waited = grown(&MachineLook::waited_s, seconds); waited >= 0)
    put(MachineFigure::waited, std::min(1.0, waited / seconds));
  put(MachineFigure::cpus, mean(&MachineLook::cpus));
  put(MachineFigure::load, mean(&MachineLook::load));
  put(MachineFigure::cpu_mhz, mean(&MachineLook::cpu_mhz));
  put(MachineFigure::gpu_mhz, mean(&MachineLook::gpu_mhz));
  put(MachineFigure::gpu_memory_mhz, mean(&MachineLook::gpu_memory_mhz));
  put(MachineFigure::gpu_held_down, mean(&MachineLook::gpu_held_down));
  return figures;
}

}  // namespace tprof
