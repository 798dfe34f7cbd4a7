// User ranges (record_function and its kin) as step tokens.
#pragma once
#include "collect/recorder/thread.h"

namespace tprof {

// From torch's callback, inside enter().
void user_range_begins(ThreadBlock* block, const char* name);
void user_range_ends(ThreadBlock* block, const char* name);

}  // namespace tprof
