// Turns the program counters of native stacks into file and function, and source line where there is debug information.
//
// A file is used only if its build id shows that it is still the one that was mapped; if it is stripped, a separate
// debug file (found by build id, or by the name in .gnu_debuglink) is used instead. Lines come from llvm-symbolizer or
// addr2line, in one request for all addresses, and only for files that have line tables. Files that must not be given
// to such a tool are named in a line on stderr, once. Files and lines are kept as long as the process lives, because
// the finisher converts window after window.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "record/reader.h"
#include "symbols/elf_file.h"

namespace tprof {

// Where an instruction lies in the code.
struct CodeLocation {
  std::string image;     // file name without directory; empty: nothing was mapped there
  std::string function;  // demangled; empty: unknown
  std::string file;      // of the source; empty: unknown
  u32 line = 0;
  u64 offset = 0;  // address in the image, or the address itself

  // "file(line): function", "image: function" or "image+0x1234".
  std::string text() const;
};

class Symbols {
 public:
  explicit Symbols(const Meta& meta) : meta_(meta) {}

  // The locations of native frames (StackRecord::at), in the same order.
  std::vector<CodeLocation> locations_of(const std::vector<u64>& frames);

  // The directory of the debug files; tests set their own.
  static std::string debug_directory;

 private:
  const ImageRecord* image_of(u64 at) const;

  const Meta& meta_;
};

}  // namespace tprof
