// Bytes and numbers of elements as a file states them.
#pragma once
#include <math.h>

#include "base/types.h"

namespace tprof {

// No process can address 256 TiB. Sums and products of damaged or forged sizes beyond it would overflow.
constexpr i64 kMaxSize = i64(1) << 48;

// A size that was computed in double, which no product of sizes overflows; -1, not known, if it cannot be one.
inline i64 size_or_unknown(double size) { return size >= 0 && size <= double(kMaxSize) ? i64(size) : -1; }

// The elements of a tensor that has one dimension more. If that dimension cannot be: NaN, which stays NaN however many
// dimensions follow, and is -1 to size_or_unknown().
inline double with_dimension(double elements, i64 size) {
  return size_or_unknown(double(size)) < 0 ? double(NAN) : elements * double(size);
}

}  // namespace tprof
