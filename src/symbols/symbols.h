// What the program counters of native stacks mean: file, function, and source line where there is debug information.
//
// A file is believed if it still is the one that was mapped (its build id says so); where it is stripped, a separate
// debug file (by build id, or named in .gnu_debuglink) takes its place. Lines are asked of llvm-symbolizer or addr2line,
// once for all addresses, and only for files that have line tables. Files and answers are kept for the process: the
// finisher converts window after window.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "record/reader.h"
#include "symbols/elf_file.h"

namespace tprof {

// A place in code.
struct CodePlace {
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

  // Places of native frames (StackRecord::at), in the same order.
  std::vector<CodePlace> places_of(const std::vector<u64>& frames);

  // Where the files of debug information lie; tests have their own.
  static std::string debug_directory;

 private:
  const ImageRecord* image_of(u64 at) const;

  const Meta& meta_;
};

}  // namespace tprof
