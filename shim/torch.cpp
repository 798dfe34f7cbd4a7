// Setting a thread's callbacks in torch, passed on only if it changes something (collect/torch/callback_state.h).
#include "collect/torch/callback_state.h"
#include "export.h"
#include "torch_real.h"

namespace at {

struct RecordFunctionTLS : tprof::CallbackState {};

EXPORT void set_record_function_tls_(const RecordFunctionTLS& state) {
  static constinit tprof::TorchReal<void (*)(const RecordFunctionTLS&)> real(
      "libtorch_cpu.so", "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");
  auto forward = real.get(__builtin_return_address(0));
  if (real.is_torchs(forward) && tprof::callback_state_stays(state)) return;  // the state is that of torch's copy
  if (forward) forward(state);
}

}  // namespace at
