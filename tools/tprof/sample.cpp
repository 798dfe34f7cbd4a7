// `tprof sample`, the sampler: a child of the finisher that reads the frames of the program's threads while a window is
// recorded, and writes them beside the recording (record/companion.h). Nothing of it runs in the program.
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "command.h"
#include "convert/convert.h"
#include "exit_codes.h"
#include "finish/followed.h"
#include "finish/outlive_signals.h"
#include "finish/survive_cuts.h"
#include "record/companion.h"
#include "record/reader.h"
#include "remote/process.h"
#include "remote/python_layout.h"
#include "sample/native_stacks.h"
#include "sample/samples_file.h"
#include "sample/thread_states.h"

namespace tprof {
namespace {

constexpr u64 kIdlePause_ns = 10'000'000;      // how often it looks whether something is recorded
constexpr u64 kStartPatience_ns = kSecond_ns;  // until the program has let its sampler in (PR_SET_PTRACER)
constexpr u64 kPartOfMaxSize = 4;              // of TPROF_MAX_SIZE is for samples
constexpr size_t kMaxFrames = 512;             // of a stack

void sleep_until(u64 ns) {
  timespec t{time_t(ns / kSecond_ns), long(ns % kSecond_ns)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

// The moments at which it looks: one in each period, at a random place in it, so that they do not fall into step with
// anything that the program does periodically.
class Moments {
 public:
  explicit Moments(u32 hz) : period_(kSecond_ns / hz), random_(clock_ns(CLOCK_MONOTONIC) | 1) {}

  // Starts anew, with the next period.
  void restart() { begin_ = 0; }
  // The next moment; `missed`: periods that are over without one.
  u64 next(u32& missed) {
    u64 now = clock_ns(CLOCK_MONOTONIC);
    missed = 0;
    if (!begin_) begin_ = now;
    if (now >= begin_ + period_) {
      missed = u32((now - begin_) / period_);
      begin_ += missed * period_;
    }
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    u64 at = begin_ + random_ % period_;
    begin_ += period_;
    return at;
  }

 private:
  u64 period_, begin_ = 0, random_;
};

class Sampler {
 public:
  explicit Sampler(const std::string& path) : program_(path), pid_(program_.pid()) {}

  int run() {
    Meta meta = program_.recording().read_meta();
    Sampling wanted;
    OptionError ignored;
    if (!parse_sampling(meta.option("sample").c_str(), wanted, ignored) || !wanted) return kExitOk;
    if (program_.process_ended()) return kExitOk;
    native_wanted_ = wanted.native;
    SamplesFile file(program_.path(), program_.recording().header(), max_size_of(meta) / kPartOfMaxSize);
    file.info(kSamplesHz, std::to_string(wanted.hz));
    std::string why_not = find(file);
    if (!why_not.empty()) file.info(kSamplesWhyNot, why_not);
    if (snapshots_ || native_) work(file, Moments(wanted.hz));
    file.close();
    return kExitOk;
  }

 private:
  // Finds the interpreter. Empty, or why there is none to be read.
  std::string find(SamplesFile& file) {
    u64 begin = clock_ns(CLOCK_MONOTONIC);
    std::string why;
    native_.reset();
    snapshots_.reset();
    for (;;) try {
        process_ = remote::Process::open(pid_);
        break;
      } catch (const Error& e) {
        if (program_.ended() || clock_ns(CLOCK_MONOTONIC) - begin > kStartPatience_ns) return e.what();
        usleep(20'000);
      }
    states_.emplace(pid_);
    if (native_wanted_) try {
        native_.emplace(*process_, file);
      } catch (const Error& e) {
        no_native(file, e.what());
      }
    remote::FoundPython python = remote::find_python(*process_);
    if (!python.is_python) return native_ ? "" : "the program is no Python";
    if (!python.why_not.empty()) return python.why_not;
    snapshots_.emplace(*process_, python.layout, kMaxFrames);
    if (snapshots_->knows_gil()) file.info(kSamplesGil, "1");
    return "";
  }

  void no_native(SamplesFile& file, const std::string& why) {
    if (!std::exchange(said_no_native_, true)) file.info(kSamplesWhyNoNative, why);
  }

  bool is_recording() const {
    u32 phase = program_.word(offsetof(FileHeader, phase));
    return phase == u32(Phase::warmup) || phase == u32(Phase::active);
  }

  void work(SamplesFile& file, Moments moments) {
    u64 looked_ns = 0;
    while (!file.stopped()) {
      u64 now = clock_ns(CLOCK_MONOTONIC);
      if (now - looked_ns >= kIdlePause_ns) {
        if (program_.ended()) break;
        looked_ns = now;
      }
      if (!is_recording()) {
        file.sampled_until(now);
        moments.restart();
        sleep_until(now + kIdlePause_ns);
        continue;
      }
      u32 missed = 0;
      u64 due = moments.next(missed);
      // A pause is cut into parts, since a window that ends in it waits for its samples.
      for (; due > now + 2 * kIdlePause_ns; now += kIdlePause_ns) {
        sleep_until(now + kIdlePause_ns);
        file.sampled_until(now);
        if (program_.ended()) return;
      }
      sleep_until(due);
      if (!is_recording()) continue;
      look(file, missed);
    }
  }

  void look(SamplesFile& file, u32 missed) {
    u32 epoch = program_.word(offsetof(FileHeader, epoch));
    u64 ns = clock_ns(CLOCK_MONOTONIC);
    taken_.clear();
    bool found = !snapshots_ || snapshots_->take(taken_, [&](u64 tid) { return states_->has_run(u32(tid)); });
    found &= process_->is_same();
    if (program_.process_ended()) return;  // what was read may be of nothing, or of another process
    u32 samples = 0, unread = found ? 0 : kAllUnread;
    if (native_ && found) native_->look_at_files();
    std::vector<u32> seen;
    for (remote::ThreadSnapshot& t : taken_) {
      if (!found) break;
      auto tid = u32(t.native);
      if (tid) seen.push_back(tid);
      bool added = tid && add(file, epoch, ns, t);
      samples += added;
      unread += !added;
    }
    if (native_ && found) samples += add_others(file, epoch, seen);
    file.add_round(epoch, ns, samples, missed, unread);
    file.sampled_until(clock_ns(CLOCK_MONOTONIC));
    file.used(clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (native_ ? native_->cpu_ns() : 0));
    states_->forget_others();
    if (found) failed_since_ns_ = 0;
    if (!found && !failed_since_ns_) failed_since_ns_ = ns;
    if (!found && ns - failed_since_ns_ > kSecond_ns) look_again(file);
  }

  // One thread. With native frames it is stopped, or known to stand still, and its Python frames are read again
  // meanwhile, to be of one moment with the native ones. False: there was nothing to be read.
  bool add(SamplesFile& file, u32 epoch, u64 ns, remote::ThreadSnapshot& t) {
    auto tid = u32(t.native);
    u32 flags = states_->is_on_cpu(tid) * kSampleOnCpu;
    NativeStacks::Stop stop = stopped(file, tid, [&] {
      ns = clock_ns(CLOCK_MONOTONIC);
      if (!snapshots_ || !snapshots_->take_one(again_, tid)) return;
      t = again_.empty() ? remote::ThreadSnapshot{tid} : std::move(again_[0]);
    });
    if (t.unread || (t.frames.empty() && !stop.stack) || (stop.stack && !process_->is_same())) return false;
    flags |=
        t.gil * kSampleGil | t.changed * kSampleChanged | t.cut * kSampleCut | stop.not_stopped * kSampleNotStopped;
    if (native_wanted_ && !stop.stack) flags |= kSampleNoNative;
    u32 python = snapshots_ ? file.stack_of(t, snapshots_->codes()) : 0;
    if (!file.knows_thread(tid)) file.add_thread(tid, states_->name_of(tid));
    file.add_sample(epoch, tid, ns, {python, stop.stack}, flags, stop.stopped_ns);
    return true;
  }

  // Threads that run no Python, while they run. Returns how many samples they gave.
  u32 add_others(SamplesFile& file, u32 epoch, const std::vector<u32>& seen) {
    u32 added = 0;
    for (int tid : process_->threads()) {
      if (std::find(seen.begin(), seen.end(), u32(tid)) != seen.end()) continue;
      if (!states_->has_run(u32(tid)) || !states_->is_on_cpu(u32(tid))) continue;
      remote::ThreadSnapshot t{u64(tid)};
      added += native_ && add(file, epoch, clock_ns(CLOCK_MONOTONIC), t);
    }
    return added;
  }

  NativeStacks::Stop stopped(SamplesFile& file, u32 tid, const std::function<void()>& meanwhile) {
    if (!native_) return {};
    try {
      NativeStacks::Stop stop = native_->stop(tid, meanwhile);
      if (!stop.stack) no_native(file, native_->why_not());
      return stop;
    } catch (const Error& e) {
      no_native(file, e.what());
      native_.reset();
      return {};
    }
  }

  // After a second without any thread: the program may have become another one (exec).
  void look_again(SamplesFile& file) {
    failed_since_ns_ = 0;
    if (program_.ended() || process_->is_same()) return;
    file.forget_codes();
    if (!find(file).empty()) usleep(useconds_t(kSecond_ns / 1000));
  }

  Followed program_;
  const int pid_;
  std::unique_ptr<remote::Process> process_;
  std::optional<remote::Snapshots> snapshots_;
  std::optional<ThreadStates> states_;
  std::optional<NativeStacks> native_;
  bool native_wanted_ = false, said_no_native_ = false;
  std::vector<remote::ThreadSnapshot> taken_, again_;
  u64 failed_since_ns_ = 0;
};

}  // namespace

Action declare_sample(Arguments& arguments) {
  auto path = std::make_shared<std::vector<std::string>>();
  arguments.operands("RECORDING", "the recording of the program to sample", 1, 1, *path);
  return [path]() -> int {
    outlive_signals();
    survive_cuts();
    rlimit files;  // one descriptor per thread
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
    return Sampler((*path)[0]).run();
  };
}

}  // namespace tprof
