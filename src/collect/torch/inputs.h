// Encodes the inputs of an operator, from the IValues that torch passes to a callback, in the format of record.h.
//
// What is read and what is left out follows torch.profiler's Input Dims, Input type, Input Strides and Concrete Inputs:
// nested and symbolic tensors count as undefined, sparse and mkldnn ones have no strides, lists are kept up to torch's
// print limit of 30 (longer ones get kInputCut; torch prints nothing of them). Unlike torch, strings are kept. Runs up
// to about a million times a second.
#pragma once
#include "collect/torch/layout.h"

namespace tprof {

constexpr u64 kListLimit = 30;     // torch: SCALAR_LIST_LENGTH_LIMIT, TENSOR_LIST_DISPLAY_LENGTH_LIMIT
constexpr u64 kStringLimit = 128;  // bytes

struct EncodedInputs {
  u16 count = 0;  // inputs encoded
  u32 total = 0;  // inputs that the call has
  u32 bytes = 0;  // written, a multiple of 8
};

// Writes at most `capacity` bytes to `out`, which is 8-byte aligned. Only in a start callback with needs_inputs;
// without layout.inputs_ok the result is {0, 0, 0}. From the first input that does not fit, inputs are left out.
EncodedInputs encode_inputs(const TorchLayout& layout, const void* record_function, void* out, u32 capacity);

}  // namespace tprof
