// What each thread of torch's has of its own for callbacks (at::RecordFunctionTLS), and when setting it changes nothing.
//
// torch sets a thread's state twice for each autograd node and twice for each task of its pools, and each time makes the
// thread's ten lists of callbacks anew, under a lock, whether anybody observes or not. Nearly always
// the state is the one that the thread has; then we do not pass the call on (shim/torch.cpp), and what that saves pays
// for much of what else we do.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

struct CallbackState {
  const void *begin, *end, *room;  // std::vector of the thread's own callbacks
  u8 enabled;                      // whether the thread observes at all
};

// The calling thread's; nullptr until discover_layout() proved that it is as above, and nothing more.
extern std::atomic<const CallbackState* (*)()> g_callback_state;

// Whether the calling thread may go on with the lists that it has: no callbacks of its own, neither now nor then.
// Those for all threads do not matter: each thread compares their version before it uses its lists.
inline bool callback_state_stays(const CallbackState& next) {
  auto present = g_callback_state.load(std::memory_order_relaxed);
  if (!present || next.begin != next.end) return false;
  const CallbackState& now = *present();
  return now.begin == now.end && now.enabled == next.enabled;
}

}  // namespace tprof
