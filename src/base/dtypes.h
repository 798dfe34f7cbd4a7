// Element types of tensors, as torch and records have them: at::ScalarType's numbers.
#pragma once
#include "base/types.h"

namespace tprof {

// Bytes of an element; 0: not known, or less than one.
inline u32 dtype_bytes(u16 dtype) {
  constexpr u8 kBytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 4, 8};
  return dtype < sizeof kBytes ? kBytes[dtype] : 0;
}

}  // namespace tprof
