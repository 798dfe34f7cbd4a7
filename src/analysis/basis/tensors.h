// The tensors among the inputs of an operator, decoded from the Model's encoded form (InputHead, record/record.h).
#pragma once
#include <vector>

#include "model/trace.h"

namespace tprof {

struct TensorInput {
  std::vector<i64> sizes, strides;  // no strides: they are not known, or it has none
  u8 dtype = 255;                   // at::ScalarType, 255 unknown
  bool defined = false;             // false: None, an undefined tensor, or a value that is no tensor
  bool has_strides = false;         // recorded; a tensor that is sparse or nested has none

  i64 elements() const;
  // The last-but-`back` size; 0 if there are not as many.
  i64 size(size_t from_end) const { return from_end < sizes.size() ? sizes[sizes.size() - 1 - from_end] : 0; }
};

struct OpInput {
  TensorInput tensor;
  std::vector<TensorInput> list;  // of a list of tensors that was recorded whole
  std::vector<i64> integers;      // of a list of integers, or of one integer
  std::vector<bool> booleans;     // likewise
};

// In order; a list of tensors is one input. Empty if inputs were not recorded.
std::vector<OpInput> inputs_of(const Event& event);

bool is_half(u8 dtype);  // float16 or bfloat16

}  // namespace tprof
