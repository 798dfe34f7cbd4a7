// How torch names communication: the labels of its backends and the operators of torch.distributed. Kernels that
// communicate are listed in analysis/basis/communication.def.
#pragma once
#include <string_view>

namespace tprof {

// The backends of torch.distributed. Each opens a label around a collective: "nccl:all_reduce".
// BACKEND(prefix of the label, viewers know it as a collective, before 2022 the label had the category of operators)
#define TPROF_COMMUNICATION_BACKENDS(BACKEND) \
  BACKEND("nccl:", true, true)                \
  BACKEND("gloo:", true, true)                \
  BACKEND("mpi:", false, true)                \
  BACKEND("ucc:", false, true)                \
  BACKEND("xccl:", false, false)              \
  BACKEND("hccl:", false, false)

// A collective to torch.profiler and to viewers of its traces.
inline bool is_collective_label(std::string_view name) {
#define BACKEND(prefix, collective, old_operator) \
  if (collective && name.starts_with(prefix)) return true;
  TPROF_COMMUNICATION_BACKENDS(BACKEND)
#undef BACKEND
  return false;
}

// A label of any backend.
inline bool is_backend_label(std::string_view name) {
#define BACKEND(prefix, collective, old_operator) \
  if (name.starts_with(prefix)) return true;
  TPROF_COMMUNICATION_BACKENDS(BACKEND)
#undef BACKEND
  return false;
}

// A label of a backend even where its category is that of operators.
inline bool is_old_backend_label(std::string_view name) {
#define BACKEND(prefix, collective, old_operator) \
  if (old_operator && name.starts_with(prefix)) return true;
  TPROF_COMMUNICATION_BACKENDS(BACKEND)
#undef BACKEND
  return false;
}

// Where torch says what it asks NCCL for, in the operator that starts it.
constexpr std::string_view kParamComms = "record_param_comms";

// Whether that operator, by its word for what is asked, starts a collective. Torch 2.8 exchanges the id of a
// communicator in the first operator that needs it.
inline bool starts_collective(std::string_view word) {
  return word != "wait" && word != "init" && word != "broadcastUniqueNCCLID" && word != "end_coalescing";
}

// Operators that start a collective or wait for one; they do no work of their own on the host.
inline bool is_collective_op(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
         name.starts_with("c10d_functional::") || name == kParamComms;
}

}  // namespace tprof
