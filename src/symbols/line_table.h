// Which source line an instruction of a Python code object belongs to, from the code object's own line table, in the format
// of each Python that tprof records stacks of (3.8 to 3.14).
#pragma once
#include "record/reader.h"

namespace tprof {

constexpr i32 kNoLine = -1;

// Line of the instruction at this byte offset. kNoLine: it has none, or the table is damaged or cut before it.
i32 line_of(const CodeInfo& code, u64 offset);

}  // namespace tprof
