// Setting a thread's callbacks in torch, passed on only if it changes something (collect/torch/callback_state.h).
#include "collect/torch/callback_state.h"
#include "export.h"
#include "resolve.h"

namespace at {

struct RecordFunctionTLS : tprof::CallbackState {};

EXPORT void set_record_function_tls_(const RecordFunctionTLS& state) {
  void* real = tprof::function_of(tprof::Hook::set_record_function_tls, __builtin_return_address(0));
  if (real == tprof::g_callback_setter.load(std::memory_order_relaxed) && tprof::callback_state_stays(state)) return;
  if (real) reinterpret_cast<void (*)(const RecordFunctionTLS&)>(real)(state);
}

}  // namespace at
