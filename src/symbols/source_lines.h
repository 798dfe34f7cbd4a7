// Source lines of addresses, from a tool that reads DWARF: llvm-symbolizer or addr2line, whichever is found on PATH.
//
// Such a tool is no match for a file that was made to deceive it. So it gets none that others than root and this user
// can change, and runs confined (base/confined.h): for root as nobody, with the file as an open descriptor.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

struct SourceLine {
  std::string file;  // empty: unknown
  u32 line = 0;
};

// The tool's path, empty if there is none.
std::string line_tool();

// The lines of addresses in one ELF file, in the same order. Lines that the tool has not returned within `timeout_ms`
// are unknown. `why_not`: set if the tool is not given the file.
std::vector<SourceLine> source_lines(const std::string& elf, const std::vector<u64>& addresses, int timeout_ms,
                                     std::string& why_not);

}  // namespace tprof
