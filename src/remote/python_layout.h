// Where a Python interpreter keeps its threads, frames, code objects and strings, as offsets in its own structures.
// Outside of that interpreter there is no API that says so. From 3.13 on it publishes the offsets itself
// (published_layout.cpp); for older ones they are learnt from a second process of the same program, which describes its
// own frames (learnt_layout.cpp).
#pragma once
#include <string>

#include "remote/memory.h"

namespace tprof::remote {

struct PythonLayout {
  u16 python = 0;     // major << 8 | minor
  u64 runtime = 0;    // the address of _PyRuntime
  u64 code_type = 0;  // the address of PyCode_Type

  i32 interpreters = -1;      // in _PyRuntime: the first interpreter
  i32 next_interpreter = -1;  // in an interpreter: the next one; -1: only the first one is read
  i32 threads = -1;           // in an interpreter: the first thread state

  i32 next_thread = 8;  // in a thread state: the next one
  i32 thread_id = -1;   // in a thread state: its pthread_t
  i32 native_id = -1;   // in a thread state: the thread's id in the kernel (from 3.11 on), 8 bytes
  i32 first = -1;       // in a thread state: the innermost frame, or (second >= 0) an object that holds it
  i32 second = -1;      // in that object: the innermost frame
  i32 code = -1;        // in a frame: its code object; the low bits are the interpreter's
  i32 previous = -1;    // in a frame: the caller's frame
  i32 at = -1;          // in a frame: the current instruction, its address or (before 3.11) its number
  i32 at_bytes = 0;     // of an instruction where it is a number; 0: it is an address
  i32 entered = -1;     // in a frame: whether the interpreter was entered with it, a byte (3.11 only)
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

// Looks for an interpreter in a program. `learn`: a second process of the same program may be started to learn from.
// Results for one program file are kept, as long as this process lives.
FoundPython find_python(const Memory& memory, bool learn);

// published_layout.cpp: from 3.13 on. Empty, or why the layout is not known.
std::string published_layout(const Memory& memory, PythonLayout& layout);

// learnt_layout.cpp: up to 3.12. `program` is the interpreter's file, `user` whom the process that was found runs as:
// the second one runs as the same user, or nothing is learnt. Empty, or why the layout is not known.
std::string learnt_layout(const std::string& program, u32 user, PythonLayout& layout);

}  // namespace tprof::remote
