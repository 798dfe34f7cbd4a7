// The stacks of all threads of a program, as `tprof stack` shows them: native and Python frames of one moment in one
// chain, and what each thread waits for.
#pragma once
#include <string>
#include <vector>

#include "analysis/hang/wait.h"

namespace tprof {

enum class Frames { all, python, native };  // which ones to show; with `python` no thread is stopped

struct ThreadFrame {
  bool python = false;
  std::string function;  // empty: unknown
  std::string file;      // the source file, or else the image; empty: unknown
  u32 line = 0;          // 0: unknown
  u64 offset = 0;        // native: in the image
};

struct ThreadStack {
  int tid = 0;
  std::string name;
  bool main = false, runs = false;
  bool gil = false;   // holds the global interpreter lock
  bool died = false;  // of a core file: got the signal that ended the program
  std::string waits;  // for what, if it can be told: "for a mutex"
  hang::Wait wait = hang::Wait::unknown;
  int owner = 0;                    // the thread that holds the mutex that this one waits for
  std::string in_call;              // the system call in which it was blocked, and therefore not stopped
  std::vector<ThreadFrame> frames;  // innermost first
  std::string incomplete;           // why frames are missing; empty: the stack reaches its root
};

struct ProgramStacks {
  int pid = 0;
  std::string command;
  std::string python;    // "3.11", empty: it runs no Python
  std::string why_not;   // why there are no Python frames although it is Python
  int signal = 0;        // of a core file: what ended the program
  bool stopped = false;  // by SIGSTOP or the like
  std::vector<ThreadStack> threads;
  std::vector<u64> stops_ns;             // how long each thread was stopped
  std::vector<std::vector<int>> cycles;  // deadlocks: threads of which each waits for a mutex that the next one holds
};

// Throw Error(Fault::unreadable) with one line.
ProgramStacks stacks_of_process(int pid, Frames frames);
ProgramStacks stacks_of_core(const std::string& path, Frames frames);

// waits.cpp. For what a thread with these frames waits, by the table in waits.def; an empty text: nothing is known.
struct Waiting {
  hang::Wait kind = hang::Wait::unknown;
  std::string text;
};
Waiting waits_for(const std::vector<ThreadFrame>& frames);

}  // namespace tprof
