// The inputs of an operator, from the IValues that torch hands to a callback, as the stream of record.h.
//
// What is read and what is left out follows torch.profiler's Input Dims, Input type, Input Strides and
// Concrete Inputs: nested and symbolic tensors count as undefined, sparse and mkldnn ones have no strides,
// lists that torch prints are kept up to its limit of 30 (longer ones get kInputCut: torch prints nothing of
// them). Beyond torch, strings are kept. Runs about a million times a second.
#pragma once
#include "collect/torch/layout.h"

namespace tprof {

constexpr u64 kListLimit = 30;     // torch: SCALAR_LIST_LENGTH_LIMIT, TENSOR_LIST_DISPLAY_LENGTH_LIMIT
constexpr u64 kStringLimit = 128;  // bytes

struct EncodedInputs {
  u16 count = 0;  // inputs encoded
  u32 total = 0;  // inputs the call has
  u32 bytes = 0;  // written, a multiple of 8
};

// Writes at most `capacity` bytes to `out` (8-byte aligned). Only in a start callback that needs_inputs, with
// layout.inputs_ok; else {0, 0, 0}. Inputs that do not fit are left out from the first one on.
EncodedInputs encode_inputs(const TorchLayout& layout, const void* record_function, void* out, u32 capacity);

}  // namespace tprof
