// The operations of a group: what they compute, and the kernels that carry them out.
#pragma once
#include <vector>

#include "driver/driver.h"
#include "nccl_api.h"
#include "profiler.h"
#include "world.h"

namespace sim_nccl {

// ncclFunc_t, in the words of NCCL.
enum class Func { broadcast, reduce, all_gather, reduce_scatter, all_reduce, send, recv, all_to_all, gather, scatter };
const char* text_of(Func);
inline bool is_pair(Func func) { return func == Func::send || func == Func::recv; }

struct Comm {
  World* world = nullptr;
  int device = 0, splits = 0;
  u64 hash = 0;
  u64 counts[10] = {};       // of each Func
  void* profiler = nullptr;  // the plugin's context
  bool alone() const { return world->ranks == 1; }
};

struct Operation {
  Func func;
  const void* from;
  void* to;
  size_t count;
  int type, reduction, root;  // root: or the peer
  Comm* comm;
  void* stream;
  Profiled profiled = {};
};

// Enqueues it, or carries it out at once outside of a group.
int enqueue(const Operation& operation);
int group_start();
int group_end();
// Gives up what was enqueued.
int group_forget();

}  // namespace sim_nccl
