// The Python threads and frames of another program, read by a layout (python_layout.h). While a thread runs, its frames
// change under the reader: what is read then is checked for sense, but may be of two moments. A stopped thread's are
// exact.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "record/reader.h"
#include "remote/memory.h"
#include "remote/python_layout.h"

namespace tprof::remote {

struct PythonThread {
  u64 state = 0;    // its thread state
  u64 pthread = 0;  // its pthread_t
  u64 native = 0;   // its id in the kernel; 0: the interpreter does not know it
};

struct PythonFrame {
  u64 code = 0;          // its code object
  i64 offset = 0;        // of the instruction, in bytes
  bool entered = false;  // the interpreter was entered with it: a native frame evaluates it and those that it called
};

// The innermost frame first.
struct PythonStack {
  std::vector<PythonFrame> frames;
  bool cut = false;   // there are more than the limit
  bool whole = true;  // false: it ended where no frame could be read
};

struct PythonCode {
  std::string name, file;
  CodeInfo lines;  // for line_of() of symbols/line_table.h; its ids are not set
  size_t bytes() const { return sizeof *this + name.size() + file.size() + lines.table.size(); }
};

class PythonReader {
 public:
  PythonReader(const Memory& memory, const PythonLayout& layout) : memory_(memory), layout_(layout) {}

  std::vector<PythonThread> threads() const;
  // The thread state that holds the global interpreter lock (GIL) now; 0: none, or that is not known.
  u64 gil_holder() const;
  PythonStack stack_of(const PythonThread& thread, size_t limit);

  // A code object's name, file and lines, kept from the first time on: call it while a frame keeps the object alive.
  // nullptr: they cannot be read.
  const PythonCode* code_at(u64 address);
  // Reads it anew. False: it is none, or cannot be read.
  bool read_code(u64 address, PythonCode& out) const;

 private:
  struct Window;
  bool is_shown(u64 object);
  bool read_text(u64 string, std::string& out) const;

  const Memory& memory_;
  const PythonLayout layout_;
  std::map<u64, PythonCode> codes_;
  size_t kept_bytes_ = 0;         // of codes_
  std::map<u64, bool> is_shown_;  // of the objects of one stack's frames
};

}  // namespace tprof::remote
