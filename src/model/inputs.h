// The encoded inputs of operators (InputHead in record/record.h), walked and shown.
#pragma once
#include <string>

#include "model/trace.h"

namespace tprof {

// The size of what follows the head of an input; 0 for a tensor list, whose elements are inputs of their own.
// Must agree with valid_range() of record/reader.cpp, which has checked that the record holds all of it.
size_t input_payload_bytes(const InputHead& head);

// "[[32, 3, 224, 224], [], [[2, 3], [4]]]", as Input Dims of a trace; "[]" without inputs.
std::string dims_text(const Event& event);

}  // namespace tprof
