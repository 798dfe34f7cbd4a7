// The tensors among the inputs of an operator, decoded from the Model's encoded form (InputHead, record/record.h).
#pragma once
#include <vector>

#include "model/trace.h"

namespace tprof {

struct TensorInput {
  std::vector<i64> sizes, strides;  // strides are empty if they are not known or do not exist
  u8 dtype = 255;                   // at::ScalarType, 255 unknown
  bool defined = false;             // false: None, an undefined tensor, no tensor, or one of impossible sizes
  bool has_strides = false;         // strides were recorded; sparse and nested tensors have none

  double elements() const;  // a whole number, as a double because no product of sizes overflows it
  // The size of a dimension, counted from the last one; 0 if there are fewer.
  i64 size(size_t from_end) const { return from_end < sizes.size() ? sizes[sizes.size() - 1 - from_end] : 0; }
};

struct OpInput {
  TensorInput tensor;
  std::vector<TensorInput> list;  // a list of tensors, if it was recorded whole
  std::vector<i64> integers;      // a list of integers, or a single one
  std::vector<bool> booleans;     // a list of booleans, or a single one
};

// In order; a list of tensors is one input. Empty if inputs were not recorded.
std::vector<OpInput> inputs_of(const Event& event);

bool is_half(u8 dtype);  // float16 or bfloat16

}  // namespace tprof
