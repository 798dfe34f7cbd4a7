// The process groups of torch.distributed, and how an operator's input shows for which of them it was called.
//
// An operator c10d::... has its process group as a custom class: an IValue that points to an object with one slot,
// which holds the address of the C++ object. Python's object of a group holds the same address. Nothing is called on
// either: where the slot lies is found by comparing the two, once.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

struct ProcessGroup {
  u64 address;
  const char *name, *description, *ranks;  // ranks: "[0, 2]"
  u32 size;
  i64 sequence;  // of its last collective, as torch counts; -1 not known
};

// Notes the group in the recording, if there is one: with the time, since the address of a group that was destroyed may
// be that of another one later.
void group_learn(const ProcessGroup& group);

// True: groups are known, but not yet how the IValue of one looks.
extern std::atomic<bool> g_groups_sought;
// Whether the value is a process group that is known. If so, ValueLayout is completed.
bool group_seek(u32 tag, const char* object);

}  // namespace tprof
