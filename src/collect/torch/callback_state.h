// torch's state of a thread for callbacks (at::RecordFunctionTLS), and when setting it changes nothing.
//
// torch sets a thread's state twice for each autograd node and twice for each task of its thread pools. Each time it
// makes the thread's ten lists of callbacks again, under a lock, even without any observer. Nearly always the thread
// already has that state; then shim/torch.cpp does not pass the call on. This saving makes up for much of tprof's own
// cost.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

struct CallbackState {
  const void *begin, *end, *capacity_end;  // std::vector of the thread's own callbacks
  u8 enabled;                              // whether the thread observes at all
};

// Returns the calling thread's state. nullptr until discover_layout() has proved that the state is exactly as above.
extern std::atomic<const CallbackState* (*)()> g_callback_state;
// The function that sets it, of the same copy of torch.
extern std::atomic<void*> g_callback_setter;

// Whether the calling thread may keep its lists: it has no callbacks of its own, neither now nor in the next state.
// Callbacks for all threads do not matter: each thread compares their version before it uses its lists.
inline bool callback_state_stays(const CallbackState& next) {
  auto present = g_callback_state.load(std::memory_order_relaxed);
  if (!present || next.begin != next.end) return false;
  const CallbackState& now = *present();
  return now.begin == now.end && now.enabled == next.enabled;
}

}  // namespace tprof
