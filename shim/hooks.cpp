// The wrappers that hooks.def describes. In a process that records nothing, a call costs a look-up of the caller's real
// function, a load and a jump.
#include "abi.h"
#include "collect/cuda/call.h"
#include "collect/start/profiler_range.h"
#include "export.h"
#include "payload.h"
#include "resolve.h"

using namespace tprof;

namespace {

// Passed from the first part of a wrapper to the second. If a signal handler makes a call in between, its caller is
// left here, and the function is that of another library's runtime.
__thread const void* t_caller __attribute__((tls_model("initial-exec")));

// The current device. Called only after an allocation that succeeded, beside which its cost does not matter.
i32 device_of(const void* caller) {
  int device = -1;
  auto ask = reinterpret_cast<int (*)(int*)>(function_of(Hook::cudaGetDevice, caller));
  return ask && ask(&device) == 0 ? device : -1;
}

// The communicator of a call, of which some are known only by NCCL's own word: those that were split from others.
NcclPart on_comm(void* comm, int peer, bool counted, const void* caller) {
  NcclPart on = comm_called(comm, peer, counted);
  if (on.ranks || !on.group) return on;
  using Ask = int (*)(const void*, int*);
  auto count = reinterpret_cast<Ask>(function_of(Hook::ncclCommCount, caller));
  auto number = reinterpret_cast<Ask>(function_of(Hook::ncclCommUserRank, caller));
  int ranks = 0, rank = -1;
  if (!count || !number || count(comm, &ranks) != 0 || number(comm, &rank) != 0 || ranks <= 0) return on;
  comm_placed(comm, u32(ranks), rank);
  on.ranks = u32(ranks);
  on.rank = rank;
  return on;
}

}  // namespace

// Each wrapper has two parts, so that the first one needs no stack frame.
#define IN_FULL(symbol, api, absent, family, flags, parameters, arguments, ...)                                    \
  static __attribute__((noinline)) int symbol##_in_full parameters {                                               \
    static constinit CallName name{#symbol};                                                                       \
    const void* caller = t_caller;                                                                                 \
    auto real = reinterpret_cast<int(*) parameters>(function_of(Hook::symbol, caller));                            \
    if (!real) return absent;                                                                                      \
    return record_call<CallKind{api, CallFamily::family, flags}>(                                                  \
        name, [&] { return real arguments; }, [&]([[maybe_unused]] auto ok) { return CallPayload{__VA_ARGS__}; }); \
  }
#define WRAPPER(symbol, api, absent, family, flags, parameters, arguments, ...)                    \
  IN_FULL(symbol, api, absent, family, flags, parameters, arguments, __VA_ARGS__)                  \
  extern "C" EXPORT int symbol parameters {                                                        \
    const void* caller = __builtin_return_address(0);                                              \
    if (!calls_wanted())                                                                           \
      if (void* real = known_function(Hook::symbol, caller); __builtin_expect(real != nullptr, 1)) \
        return reinterpret_cast<int(*) parameters>(real) arguments;                                \
    t_caller = caller;                                                                             \
    return symbol##_in_full arguments;                                                             \
  }

// Where nothing is recorded, too, since the calls of each communicator are counted.
#define NCCL_WRAPPER(symbol, absent, family, flags, parameters, arguments, ...)        \
  IN_FULL(symbol, kApiNccl, absent, family, flags, parameters, arguments, __VA_ARGS__) \
  extern "C" EXPORT int symbol parameters {                                            \
    t_caller = __builtin_return_address(0);                                            \
    return symbol##_in_full arguments;                                                 \
  }

#define CUDA(name, twin, ...) CUDA_##twin(name, __VA_ARGS__)
#define CUDA_one(name, ...) WRAPPER(name, kApiCuda, kInsufficientDriver, __VA_ARGS__)
#define CUDA_ptsz(name, ...) CUDA_one(name, __VA_ARGS__) CUDA_one(name##_ptsz, __VA_ARGS__)
#define CUDA_ptds(name, ...) CUDA_one(name, __VA_ARGS__) CUDA_one(name##_ptds, __VA_ARGS__)
#define NCCL(name, ...) NCCL_WRAPPER(name, kNcclSystemError, __VA_ARGS__)
#define PROFILER(name, starts)                                                                     \
  extern "C" EXPORT int name() {                                                                   \
    auto real = reinterpret_cast<int (*)()>(function_of(Hook::name, __builtin_return_address(0))); \
    if (!real) return kInsufficientDriver;                                                         \
    cuda_profiler_range(starts);                                                                   \
    return real();                                                                                 \
  }
#include "hooks.def"
