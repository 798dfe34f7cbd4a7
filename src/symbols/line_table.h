// The source line of an instruction of a Python code object, from the line table of that object, in the formats of
// Python 3.8 to 3.14, whose stacks tprof records.
#pragma once
#include "record/reader.h"

namespace tprof {

constexpr i32 kNoLine = -1;

// The line of the instruction at this byte offset. kNoLine: it has none, or the table is damaged or ends before it.
i32 line_of(const CodeInfo& code, u64 offset);

}  // namespace tprof
