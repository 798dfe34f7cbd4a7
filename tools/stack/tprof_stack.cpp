// tprof-stack: the native stacks of another program's threads, by libunwind. `tprof stack` runs it; nobody else should.
//
//   tprof-stack PID [FRAMES MILLISECONDS] | tprof-stack --core FILE
//
// FRAMES: of a stack at most, the innermost ones (100000). MILLISECONDS: for a thread to stop (500).
//
// libunwind's static libraries are not position-independent, which is why this is a program of its own. It reads lines
// from stdin and answers each with a line. A thread's id:
//
//   stack <end> <address>...   innermost frame first. The thread stays stopped, so that the other side can read its
//                              Python frames. end: whole, cut (too many frames) or lost (there is no unwind information
//                              for the last one)
//   refused <errno> | gone | busy     busy: it does not stop, it is in an uninterruptible sleep or waits for a
//                              processor. As soon as it does stop, it is let go.
//   error <line>                      nothing can be read, and tprof-stack has ended
//
// After a stack comes the line "release", to which it answers, once the thread runs on, with
//
//   released <nanoseconds that it was stopped>
//
// At the end of stdin the thread is released, too. An address is one that lies behind an instruction of the frame's
// function: a return address, or the address of the instruction plus one.
#include <errno.h>
#include <libunwind-coredump.h>
#include <libunwind-ptrace.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "remote/core.h"
#include "remote/process.h"
#include "stopped_thread.h"
#include "unwound.h"

namespace tprof {
namespace {

constexpr size_t kMaxFrames = 100'000;
constexpr int kPatience_ms = 500;
constexpr u64 kLookEvery_ns = 1'000'000'000;  // at the mapped files

u64 now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return u64(t.tv_sec) * 1'000'000'000 + u64(t.tv_nsec);
}

// The next line as a number: a thread's id, or 0 for "release". False at the end of the input.
bool next_line(int& number) {
  char line[32];
  if (!fgets(line, sizeof line, stdin)) return false;
  number = atoi(line);
  return true;
}

void say(const std::string& line) {
  puts(line.c_str());
  fflush(stdout);
}

// Threads that were asked to stop and did not in time.
class LateThreads {
 public:
  void add(std::unique_ptr<StoppedThread> thread) { threads_.push_back(std::move(thread)); }
  bool has(int tid) const {
    return std::any_of(threads_.begin(), threads_.end(), [&](const auto& t) { return t->tid() == tid; });
  }
  // Lets each of them go as soon as it stops, until there is a line to be read.
  void wait_for_line() {
    constexpr int kPause_ms = 1;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (!threads_.empty() && poll(&input, 1, kPause_ms) == 0)
      std::erase_if(threads_, [](const auto& t) { return t->has_stopped(); });
  }

 private:
  std::vector<std::unique_ptr<StoppedThread>> threads_;
};

int serve_process(int pid, size_t most_frames, u64 patience_ns) {
  std::unique_ptr<remote::Process> process = remote::Process::open(pid);
  Unwound unwound(*process, _UPT_access_reg, most_frames);
  std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
  LateThreads late;
  u64 looked_ns = now_ns();
  for (int tid, release; late.wait_for_line(), next_line(tid);) {
    if (late.has(tid)) {
      say("busy");
      continue;
    }
    if (access((tasks + std::to_string(tid)).c_str(), F_OK) != 0) {
      say("gone");
      continue;
    }
    if (now_ns() - looked_ns > kLookEvery_ns) {  // who samples stays for long
      if (process->read_mappings()) unwound.forget_tables();
      looked_ns = now_ns();
    }
    auto thread = std::make_unique<StoppedThread>(tid, patience_ns);
    if (!thread->why_not().empty()) {
      say(thread->why_not());
      if (thread->is_late()) late.add(std::move(thread));
      continue;
    }
    void* registers = _UPT_create(tid);
    say("stack" + unwound.stack_of(registers));
    next_line(release);
    thread->release();
    say("released " + std::to_string(now_ns() - thread->stopped_at_ns()));
    _UPT_destroy(registers);
  }
  return 0;
}

int serve_core(const char* path) {
  std::unique_ptr<remote::Core> core = remote::Core::open(path);
  UCD_info* info = _UCD_create(path);
  if (!info) throw Error(Fault::unreadable, std::string(path) + ": libunwind cannot read it");
  Unwound unwound(
      *core,
      [](unw_addr_space_t space, unw_regnum_t number, unw_word_t* value, int write, void* registers) {
        return _UCD_access_reg(space, number, value, write, registers);
      },
      kMaxFrames);
  for (int tid, release; next_line(tid);) {
    bool found = false;
    for (int i = 0; i < _UCD_get_num_threads(info) && !found; i++) {
      _UCD_select_thread(info, i);
      found = _UCD_get_pid(info) == tid;
    }
    say(found ? "stack" + unwound.stack_of(info) : "gone");
    if (found && next_line(release)) say("released 0");
  }
  return 0;
}

}  // namespace
}  // namespace tprof

int main(int argc, char** argv) {
  // Who is stopped waits for us. Without the right to do so, it is tried in vain.
  setpriority(PRIO_PROCESS, 0, -20);
  try {
    if (argc == 3 && !strcmp(argv[1], "--core")) return tprof::serve_core(argv[2]);
    bool limited = argc == 4 && atoi(argv[2]) > 0 && atoi(argv[3]) > 0;
    if ((argc == 2 || limited) && atoi(argv[1]) > 0)
      return tprof::serve_process(atoi(argv[1]), limited ? size_t(atoi(argv[2])) : tprof::kMaxFrames,
                                  tprof::u64(limited ? atoi(argv[3]) : tprof::kPatience_ms) * 1'000'000);
  } catch (const tprof::Error& e) {
    tprof::say(std::string("error ") + e.what());
    return 3;
  }
  return fprintf(stderr, "tprof-stack is run by tprof stack\n"), 2;
}
