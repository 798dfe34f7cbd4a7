// Where a Python interpreter keeps its threads, frames, code objects and strings, as offsets in its own structures.
// Outside of that interpreter there is no API that says so. From 3.13 on it publishes the offsets itself
// (published_layout.cpp); those of older ones are known (known_layout.cpp).
#pragma once
#include <map>
#include <string>

#include "remote/memory.h"

namespace tprof::remote {

constexpr u64 kTypeOfObject = 8;  // in every object of every version: where its type's address stands

// Of a list that a damaged or hostile program may have made a ring.
constexpr size_t kMaxInterpreters = 1000, kMaxThreads = 100'000;

struct PythonLayout {
  u16 python = 0;     // major << 8 | minor
  u64 runtime = 0;    // the address of _PyRuntime
  u64 code_type = 0;  // the address of PyCode_Type

  i32 interpreters = -1;      // in _PyRuntime: the first interpreter
  i32 next_interpreter = -1;  // in an interpreter: the next one
  i32 threads = -1;           // in an interpreter: the first thread state

  i32 next_thread = -1;  // in a thread state: the next one
  i32 thread_id = -1;    // in a thread state: its pthread_t
  i32 native_id = -1;    // in a thread state: the thread's id in the kernel (from 3.11 on), 8 bytes
  i32 first = -1;        // in a thread state: the innermost frame, or (second >= 0) an object that holds it
  i32 second = -1;       // in that object: the innermost frame
  i32 code = -1;         // in a frame: its code object; the low bits are the interpreter's
  i32 previous = -1;     // in a frame: the caller's frame
  i32 at = -1;           // in a frame: the current instruction, its address or (before 3.11) its number
  i32 at_bytes = 0;      // of an instruction where it is a number; 0: it is an address
  i32 entered = -1;      // in a frame: whether the interpreter was entered with it, a byte (3.11 only)
  i32 name = -1, file = -1, table = -1, first_line = -1;  // in a code object
  i32 instructions = -1;                                  // in a code object; -1: not there (before 3.11)

  // In an interpreter: whether the global interpreter lock (GIL) is held, an int, and the thread state that holds it,
  // or did last; -1: unknown (before 3.13).
  i32 gil_locked = -1, gil_holder = -1;
};

struct FoundPython {
  PythonLayout layout;
  bool is_python = false;  // false: nothing of Python is mapped in that program
  std::string why_not;     // why its layout is not known, if it is Python; else empty
};

// Looks for an interpreter in a program.
FoundPython find_python(const Memory& memory);

// Data symbols of an interpreter, and their addresses in a program; 0: it does not define this one.
using PythonSymbols = std::map<std::string, u64>;

// published_layout.cpp: from 3.13 on. Empty, or why the layout is not known.
std::string published_layout(const Memory& memory, PythonLayout& layout);

// known_layout.cpp: 3.8 to 3.12. `symbols`: at least those that tell these versions apart. Empty, or why the layout is
// not known.
std::string known_layout(const Memory& memory, const PythonSymbols& symbols, PythonLayout& layout);
PythonSymbols symbols_of_versions();

}  // namespace tprof::remote
