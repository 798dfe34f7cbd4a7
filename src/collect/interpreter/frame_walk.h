// Walks the calling thread's own Python frames, without the GIL: they cannot change while the thread is in here.
#pragma once
#include <string.h>

#include "collect/interpreter/codes.h"
#include "collect/interpreter/frame_layout.h"
#include "collect/recorder/thread.h"

namespace tprof {

// A frame as it is in memory: equal in two walks if and only if it did not change, as long as no code object was freed.
struct RawFrame {
  const void* code;  // or another object, in a frame of the interpreter's own
  u64 at;
};

template <class T>
inline T load_at(const void* object, i32 offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

inline const char* innermost_frame(const void* thread_state, const FrameLayout& layout) {
  const char* at = load_at<const char*>(thread_state, layout.first);
  return layout.second >= 0 && at ? load_at<const char*>(at, layout.second) : at;
}

inline const void* code_of(const char* frame, const FrameLayout& layout) {
  return reinterpret_cast<const void*>(load_at<uintptr_t>(frame, layout.code) & ~uintptr_t(7));
}

// Takes the place of the highest bit of an instruction's address.
inline u64 entered_flag(const char* frame, const FrameLayout& layout) {
  return layout.entered >= 0 && load_at<u8>(frame, layout.entered) == 1 ? kStackEntered : 0;
}

// Reads the frames from `frame` outwards and returns how many. `cut`: there are more.
inline u32 walk_frames(const char* frame, RawFrame* out, bool& cut) {
  const FrameLayout layout = g_frame_layout;
  u32 n = 0;
  for (; frame && n < kMaxFrames; frame = load_at<const char*>(frame, layout.previous))
    out[n++] = {code_of(frame, layout),
                (load_at<u64>(frame, layout.at) & layout.at_mask) | entered_flag(frame, layout)};
  cut = frame != nullptr;
  return n;
}

// The offset of a frame's instruction in its code, in bytes; -1: the frame is not shown (the interpreter's own, or not
// started yet).
inline i64 offset_in_code(const RawFrame& frame) {
  if (!is_code(frame.code)) return -1;
  if (g_frame_layout.at_bytes) {
    i64 number = i32(frame.at);
    return number < 0 ? 0 : number * g_frame_layout.at_bytes;
  }
  i64 offset = i64((frame.at & ~kStackEntered) - reinterpret_cast<uintptr_t>(frame.code)) - g_code_layout.instructions;
  return offset < 2 * i64(load_at<i32>(frame.code, g_code_layout.first_traceable)) ? -1 : offset;
}

}  // namespace tprof
