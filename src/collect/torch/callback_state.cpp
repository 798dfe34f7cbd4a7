#include "collect/torch/callback_state.h"

namespace tprof {

constinit std::atomic<const CallbackState* (*)()> g_callback_state{nullptr};
constinit std::atomic<void*> g_callback_setter{nullptr};

}  // namespace tprof
