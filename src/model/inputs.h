// The encoded inputs of operators (InputHead in record/record.h), walked and shown.
#pragma once
#include <string>

#include "model/trace.h"

namespace tprof {

// What follows an input's head; the elements of a tensor list are inputs of their own, its payload is none.
// Must agree with valid_range() of record/reader.cpp, which has checked that all of it lies inside the record.
size_t input_payload_bytes(const InputHead& head);

// "[[32, 3, 224, 224], [], [[2, 3], [4]]]": what traces call Input Dims; "[]" without inputs.
std::string dims_text(const Event& event);

}  // namespace tprof
