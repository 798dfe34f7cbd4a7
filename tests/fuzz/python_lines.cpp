// The line table of a Python code object, of any version.
#include <string.h>

#include "symbols/line_table.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size < 4) return 0;
  CodeInfo code{};
  code.python = u16(3 << 8 | (8 + data[0] % 7));
  i32 line = 0;
  memcpy(&line, data + 1, 3);
  code.first_line = line;
  code.table.assign(reinterpret_cast<const char*>(data) + 4, size - 4);
  for (u64 offset : {u64(0), u64(2), u64(100), u64(1) << 31, ~u64(0)}) line_of(code, offset);
  for (u64 offset = 0; offset < 200; offset += 2) line_of(code, offset);
  return 0;
}
