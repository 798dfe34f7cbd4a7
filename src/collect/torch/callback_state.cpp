#include "collect/torch/callback_state.h"

namespace tprof {

constinit std::atomic<const CallbackState* (*)()> g_callback_state{nullptr};

}  // namespace tprof
