// What names mean: which kernels communicate, which ranges load data, which calls wait, allocate, launch or copy.
//
// The tables are name_classes.def and communication.def. Each name of a Model is classified once; a query is then one
// bit test.
#pragma once
#include <string_view>

#include "model/trace.h"

namespace tprof {

enum class NameClass : u8 {
  communication_kernel,
  communication_op,
  data_loading,
  single_process_loader,
  synchronises,
  allocates,
  allocates_on_host,
  launches,
  copies,
  data_parallel,
  distributed_data_parallel,
  nccl_op,
  optimizer_step,
  zero_grad,
  fills,
  contiguous_copy,
  fp32_matmul_kernel,
  half_kernel,
  multi_tensor_kernel,
  single_tensor_optimizer,
  selects,
  to,
  convolves,
  normalises,
  matrix_product,
  clears,
  local_kernel,
  replays,
  foreach_op,
  draws_seed,
  draws_order,
  adds_in_place,
  multiplies,
  softmax,
  captures,
  profiler_frame,
  blas,
};

// What a GPU activity does, for analyses of hidden communication and copies.
enum class Work : u8 { computation, communication, copy };  // copy: memory sets as well

// Whether a name is in a class, for those who have no Model. Classes of kernels hold for names of kernels only.
bool is_in_class(std::string_view name, NameClass name_class);

class NameClasses {
 public:
  explicit NameClasses(const Model& model);

  bool is(u32 name, NameClass name_class) const { return bits_[name] >> u32(name_class) & 1; }
  bool is(const Event& event, NameClass name_class) const { return is(event.name, name_class); }
  bool is(const CallEvent& call, NameClass name_class) const;
  bool any(NameClass name_class) const { return all_ >> u32(name_class) & 1; }

  // For activities that run on a GPU. A kernel communicates by its name (communication.def), or because an operator
  // that communicates launched it.
  Work work(const GpuEvent& event) const;

 private:
  const Model& model_;
  std::vector<u64> bits_;  // by name
  u64 all_ = 0;
};

}  // namespace tprof
