// `tprof watch`, the watcher: a child of the finisher that looks whether the program stands still (TPROF_TRIGGER=
// hang>60s). If it does, the program is told, so that it writes what it has recorded; the stacks are written here, and
// the command of TPROF_ON_HANG is run. It works however stuck the program is.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/plain_file.h"
#include "base/printable.h"
#include "command.h"
#include "convert/shell.h"
#include "exit_codes.h"
#include "finish/followed.h"
#include "finish/outlive_signals.h"
#include "finish/survive_cuts.h"
#include "hang/report.h"
#include "model/collectives.h"
#include "model/job.h"
#include "model/recent.h"

namespace tprof {
namespace {

constexpr useconds_t kPause_us = 250'000;
constexpr u32 kMostReports = 1000;
constexpr u64 kShare = 100;  // looking into the recording takes at most this part of a processor's time

class Watcher {
 public:
  Watcher(const std::string& path, u32 limit_s)
      : program_(path), limit_ns_(limit_s * kSecond_ns), stillness_(limit_ns_, clock_ns(CLOCK_MONOTONIC)) {}

  int run() {
    for (; !program_.ended(); usleep(kPause_us)) {
      if (!can_tell()) continue;
      u64 now = clock_ns(CLOCK_MONOTONIC);
      signs_.step_ticks = program_.long_word(offsetof(FileHeader, step) + offsetof(StepNow, last_ticks));
      bool stepless = stillness_.stepless_ns(signs_.step_ticks, now) >= limit_ns_;
      if (now < (stepless ? next_look_ns_ : next_collectives_ns_)) continue;
      look_into_recording();
      hang::Still still = stillness_.add(signs_, now);
      if (still.ns) tell(still);
    }
    return kExitOk;
  }

 private:
  // Not where the program no longer counts steps, nor where recording has stopped for good and there are none.
  bool can_tell() const {
    bool counts = program_.word(offsetof(FileHeader, phase)) != u32(Phase::ended);
    bool is_cut = program_.word(0) == 0;
    return counts && !is_cut && (signs_.step_ticks || !program_.word(offsetof(FileHeader, stopped)));
  }

  void look_into_recording() {
    u64 begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    signs_.event_age_ns = signs_.collective_ns = -1;
    try {
      std::unique_ptr<Recording> recording = Recording::open(program_.path());
      Meta meta = recording->read_meta();
      Recent recent = recent_of(*recording, meta);
      bool records = recent.records && !recording->header().stopped;
      if (records && recent.latest_ticks) signs_.event_age_ns = recent.latest_age_ns;
      signs_.is_rank = place_of(recording->header(), meta).rank >= 0;
      for (const RecentGroup& group : recent.groups)
        for (const RecentCollective& call : group.calls)
          // A server of parameters, or the first stage of a pipeline, may wait for ever for the next message.
          if (records && call.done == 0 && !is_transfer(call.kind))
            signs_.collective_ns = std::max(signs_.collective_ns, call.age_ns);
    } catch (const Error&) {  // somebody cut the file
    }
    u64 took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin, after = clock_ns(CLOCK_MONOTONIC);
    next_look_ns_ = after + took * kShare;
    next_collectives_ns_ = std::max(next_look_ns_, after + limit_ns_ / 4);
  }

  void tell(const hang::Still& still) {
    hang::Judged judged = hang::judge(program_, signs_.is_rank, clock_ns(CLOCK_REALTIME) - still.ns);
    if (!judged.hangs) return stillness_.dismiss(clock_ns(CLOCK_MONOTONIC));
    ask_for_trace(still);
    if (count_ == kMostReports) return;
    hang::Report report(program_, ++count_);
    report.write(still, judged);
    if (judged.by_us) run_command(report, judged.verdict);
  }

  // The program's helper thread takes it.
  void ask_for_trace(const hang::Still& still) const {
    u64 word = still.ns / kSecond_ns << 1 | still.collective;
    int fd = open_plain(program_.path().c_str(), O_WRONLY);
    if (fd < 0) return;
    (void)!pwrite(fd, &word, sizeof word, offsetof(FileHeader, hang));
    close(fd);
  }

  // From this process's environment, which is that of the program, and never from a file.
  static void run_command(hang::Report& report, const std::string& verdict) {
    const char* command = getenv("TPROF_ON_HANG");
    if (!command || !*command) return;
    std::string failed = run_by_shell("on_hang", command, {{"{verdict}", verdict}, {"{}", shell_quote(report.path())}});
    if (!failed.empty()) report.add("\ntprof: " + printable(failed) + "\n");
  }

  Followed program_;
  const u64 limit_ns_;
  hang::Stillness stillness_;
  hang::Signs signs_;
  u64 next_look_ns_ = 0, next_collectives_ns_ = 0;
  u32 count_ = 0;  // hangs
};

int watch(const std::string& path) {
  survive_cuts();
  outlive_signals();
  Triggers wanted;
  OptionError ignored;
  std::string text = Recording::open(path)->read_meta().option("trigger");
  if (text.empty() || !parse_triggers(text.c_str(), wanted, ignored) || !wanted.hang_seconds) return kExitOk;
  return Watcher(path, wanted.hang_seconds).run();
}

}  // namespace

Action declare_watch(Arguments& arguments) {
  auto paths = std::make_shared<std::vector<std::string>>();
  arguments.operands("RECORDING", "the recording whose program to watch", 1, 1, *paths);
  return [paths] { return watch((*paths)[0]); };
}

}  // namespace tprof
