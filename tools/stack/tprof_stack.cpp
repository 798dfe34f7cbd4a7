// tprof-stack: the native stacks of another program's threads, by libunwind. `tprof stack` runs it; nobody else should.
//
//   tprof-stack PID [FRAMES MILLISECONDS] | tprof-stack --core FILE
//
// FRAMES: of a stack at most, the innermost ones (100000). MILLISECONDS: for a thread to stop (500).
//
// libunwind's static libraries are not position-independent, which is why this is a program of its own. It also parses
// what that program has chosen, and therefore runs with few rights (confinement.h). It reads lines
// from stdin and answers each with a line. A thread's id:
//
//   stack <end> <address>...   innermost frame first. The thread stays stopped, so that the other side can read its
//                              Python frames. end: whole, cut (too many frames) or lost (the last one's caller cannot
//                              be found: there is no unwind information)
//   in <call> <end> <address>...   the thread is blocked in this system call, which a stop might break
//                              (waiting_calls.def): it is not stopped. What can only be found by registers other than
//                              the stack pointer is lost.
//   refused <errno> | gone | busy     busy: it does not stop, it is in an uninterruptible sleep or waits for a
//                              processor. As soon as it does stop, it is let go.
//   error <line>                      nothing can be read, and tprof-stack has ended
//
// After a stack comes the line "release", to which it answers, once the thread runs on, with
//
//   released <nanoseconds that it was stopped>
//   moved                             it was not stopped, and has run since: what was read may be of several moments
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
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/types.h"
#include "confinement.h"
#include "remote/core.h"
#include "remote/process.h"
#include "tracer.h"
#include "unwound.h"
#include "waiting_call.h"

namespace tprof {
namespace {

constexpr size_t kMaxFrames = 100'000;
constexpr int kPatience_ms = 500;
constexpr u64 kLookEvery_ns = 1'000'000'000;  // at the mapped files

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

// The next line, as next_line(). Meanwhile late threads are let go.
bool next_line(int& number, Tracer& tracer) {
  constexpr int kPause_ms = 1;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (tracer.let_others_go() && poll(&input, 1, kPause_ms) == 0) {
  }
  return next_line(number);
}

// Registers of a thread that is stopped, or of one that is not and is blocked in a call.
struct Registers {
  void* stopped;
  const WaitingCall* waiting;
};

int register_of(unw_addr_space_t space, unw_regnum_t number, unw_word_t* value, int write, void* argument) {
  const auto& registers = *static_cast<Registers*>(argument);
  if (registers.stopped) return _UPT_access_reg(space, number, value, write, registers.stopped);
#ifdef __x86_64__
  constexpr unw_regnum_t kProgramCounter = UNW_X86_64_RIP, kStackPointer = UNW_X86_64_RSP;
#else
  constexpr unw_regnum_t kProgramCounter = UNW_AARCH64_PC, kStackPointer = UNW_AARCH64_SP;
#endif
  if (write || (number != kProgramCounter && number != kStackPointer)) return -UNW_EBADREG;
  *value = number == kProgramCounter ? registers.waiting->pc : registers.waiting->sp;
  return 0;
}

int serve_process(int pid, size_t most_frames, u64 patience_ns) {
  std::unique_ptr<remote::Process> process = remote::Process::open(pid);
  confine_for(*process);
  Unwound unwound(*process, register_of, most_frames);
  std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
  Tracer tracer;
  u64 looked_ns = clock_ns(CLOCK_MONOTONIC);
  for (int tid, release; next_line(tid, tracer);) {
    begin_request();
    if (access((tasks + std::to_string(tid)).c_str(), F_OK) != 0) {
      say("gone");
      continue;
    }
    if (clock_ns(CLOCK_MONOTONIC) - looked_ns > kLookEvery_ns) {  // who samples stays for long
      if (process->read_mappings()) unwound.forget_tables();
      looked_ns = clock_ns(CLOCK_MONOTONIC);
    }
    if (std::optional<WaitingCall> call = waiting_call_of(tid)) {
      tracer.leave_alone(tid, call->times_run);
      Registers registers{nullptr, &*call};
      say("in " + call->name + unwound.stack_of(&registers));
      next_line(release, tracer);
      say(waiting_call_of(tid) == call ? "released 0" : "moved");
      continue;
    }
    if (std::string why_not = tracer.stop(tid, patience_ns); !why_not.empty()) {
      say(why_not);
      continue;
    }
    Registers registers{_UPT_create(tid), nullptr};
    say("stack" + unwound.stack_of(&registers));
    next_line(release, tracer);
    say("released " + std::to_string(tracer.release()));
    _UPT_destroy(registers.stopped);
  }
  return 0;
}

int serve_core(const char* path) {
  confine_for_core(path);
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
    begin_request();
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
