// Python's code objects: each gets an id in the recording when it is first seen, with its name, file and line table
// (CodeRecord), copied while the frame that runs it keeps it alive. No GIL, no lock on the common path.
//
// When a code object is freed, its id is forgotten: we replace the deallocator of Python's code type, so a new object
// at the same address is never confused with the old one. Equal code objects share an id (code that is compiled again
// and again must not fill the recording).
#pragma once
#include <atomic>

#include "collect/interpreter/api.h"
#include "record/record.h"

namespace tprof {

// The offsets of fields in a code object, learnt by frame_layout.cpp.
struct CodeLayout {
  const void* type = nullptr;  // PyCode_Type
  i32 name = -1, file = -1, table = -1, first_line = -1;
  i32 instructions = -1;  // -1: not in the object (before 3.11)
  i32 first_traceable =
      -1;          // instruction (of 2 bytes) before which a frame is not shown; -1: there is none (before 3.11)
  u16 python = 0;  // major << 8 | minor
};
extern CodeLayout g_code_layout;

// Grows whenever a code object with an id is freed.
extern std::atomic<u64> g_codes_ended;

// Whether the object that a frame runs is a code object. Other frames are the interpreter's own.
inline bool is_code(const void* object) {
  return object && *reinterpret_cast<const void* const*>(static_cast<const char*>(object) + 8) == g_code_layout.type;
}

// The id of a code object that cannot be freed during the call, kNoCode if there was no room for it. Between enter()
// and leave(), while a recording is open.
constexpr u32 kNoCode = 0xffffffff;
u32 code_id(const void* code);

// Replaces the deallocator. GIL held.
bool watch_code_ends();
// How many code objects were freed since then.
u64 code_ends_seen();

// In a forked child, whose recording holds none of them.
void reset_codes_in_child();

}  // namespace tprof
