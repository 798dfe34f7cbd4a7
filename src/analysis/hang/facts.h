// What was seen of the processes of a job in two looks, about a second apart: all that verdict() knows.
#pragma once
#include <string>
#include <vector>

#include "analysis/hang/wait.h"
#include "model/recent.h"

namespace tprof::hang {

enum class State {
  alive,
  stopped,    // by SIGSTOP, job control or a debugger
  ended,      // by itself
  killed,     // it has not ended by itself
  absent,     // no process and no recording of this rank was found, though all ranks are on this host
  elsewhere,  // on another host, or in another container: only its recording was read, if there is one
};

struct Thread {
  int tid = 0;
  bool main = false;
  bool python = false;  // it has Python frames
  bool runs = false;    // at one of the looks
  bool moved = false;   // it ran between the looks
  bool works = false;   // it did so more often, or for longer, than one that only waits
  bool holds_gil = false;
  Wait wait = Wait::unknown;
  std::string waits;  // in words: "for a mutex"; empty: not known
  std::string where;  // the innermost frame of the program's own: "step (train.py:12)"; empty: not known
};

struct Process {
  int pid = 0;  // 0: none was found
  State state = State::alive;
  int signal = 0;  // that ended it; 0: not known
  std::vector<Thread> threads;
  std::vector<std::vector<int>> cycles;  // threads of which each waits for a mutex that the next one holds
  u64 moved_bytes = 0;                   // that it read and wrote between the looks, by read() and write()
  std::string why_no_stacks;             // empty: they were read
};

struct Rank {
  i32 number = -1;  // in the job; -1: it is no rank of a job
  std::string host;
  Process process;
  std::vector<Process> workers;  // of its data loaders
  bool recorded = false;         // it has a recording
  Recent before, now;            // of its recording, at the first and at the last look
};

struct Job {
  i32 world_size = -1;      // -1: not known
  std::vector<Rank> ranks;  // in order of numbers
  std::string cannot_tell;  // why no rank can be named: "two jobs ..."; empty: one can
};

// "rank 3 (node)", or "process 4242" if it is no rank of a job.
std::string name_of(const Rank& rank);

}  // namespace tprof::hang
