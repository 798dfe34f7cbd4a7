// How deep the program is in calls of modules and in fetches of a loader. Each greenlet has calls of its own: it may
// switch to another one in the middle of a call, which then makes calls that are not inside it.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

struct Nesting {
  u32 modules, fetching;
};

// Of what runs now; valid until the program's code runs. GIL held.
Nesting& nesting_now();

// greenlet is being imported, or was.
void greenlets_come();
bool has_greenlets();

// In a forked child, in which the calls that its parent was in may never return.
void nesting_in_child();

}  // namespace tprof
