// Holds tprof's walker of native stacks against libunwind: both look at the same stack, and each difference is printed.
#pragma once
#include "base/types.h"

namespace tprof::oracle {

struct Tally {
  u64 checkpoints, frames, deepest;
  u64 known;        // stacks that differ in a known way, see kKnownDifferences
  u64 differences;  // stacks
};
extern Tally g_tally;

void begin();

// Starts a case. The callers of the caller are the outermost frames of every stack of this thread until the next one.
void begin_case(const char* name);
void end_cases();

// Looks at the stack of the caller. Does nothing inside of another look. Safe in signal handlers of threads that have
// tables.
void look();
// The same in a signal handler, unless the corpus wants none.
void look_by_signal();
extern __thread bool t_quiet;
void make_tables();  // of the calling thread
void forget_unmapped();

// Looks after every instruction of the case that is being run: after the first `all`, then after one of `each`, and no
// more after `most`.
void start_steps(u64 all, u64 each, u64 most);
void stop_steps();
u64 steps_done();
// Sets and clears the processor's flag, while there are steps.
void step_from_here();
void pause_steps();
bool stepping();

// Looks at random moments, about `us` apart, while the case is run again and again, for `ms`; with signal handlers on a
// stack of their own or not.
void storm(const char* name, void (*run)(), u64 us, u64 ms, bool own_stack);

}  // namespace tprof::oracle
