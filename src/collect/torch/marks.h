// User ranges (record_function and its kin) as step tokens.
#pragma once
#include "collect/recorder/thread.h"

namespace tprof {

// Which optimizer runs its step on this thread (Turn::optimizer), if Python knows; outside of enter().
extern std::atomic<u64 (*)()> g_running_optimizer;
// That, if the range is an optimizer's step and it matters which; else 0.
u64 optimizer_of_range(const char* name);

// From torch's callback, inside enter().
void user_range_begins(ThreadBlock* block, const char* name, u64 optimizer);
void user_range_ends(ThreadBlock* block, const char* name);

}  // namespace tprof
