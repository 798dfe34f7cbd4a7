// The frames of all Python threads of a running program at one moment, in a few system calls and without stopping it.
//
// The program runs on while it is read, so the frames of each thread are read twice, each time in one call with the
// pointer to its innermost frame. What the first reading found is used if it leads to the thread's outermost frame and
// the outermost frame is the same in the second one. If inner frames are not the same, they changed in those
// microseconds: they are kept, and marked. Frames that are exactly those of the look before are not read a second time.
#pragma once
#include <functional>

#include "remote/memory.h"
#include "remote/python_codes.h"
#include "remote/python_reader.h"
#include "remote/thread_ids.h"

namespace tprof::remote {

struct ThreadSnapshot {
  u64 native = 0;  // its id in the kernel; 0: not known
  bool gil = false;
  bool unread = false;              // its frames could not be read: there are none here
  bool changed = false;             // the innermost frames changed while they were read
  bool cut = false;                 // there are more than the limit
  std::vector<PythonFrame> frames;  // `code` is the number of the code object in codes()
};

class Snapshots {
 public:
  Snapshots(const Memory& memory, const PythonLayout& layout, size_t limit);

  // Threads that run no Python code have no frames and are left out. False: the threads could not be found.
  // `has_run`: whether a thread may have run since it was asked about it last, which was before the last look: frames
  // of one that has not are not read again.
  using HasRun = std::function<bool(u64 native)>;
  bool take(std::vector<ThreadSnapshot>& out, const HasRun& has_run) { return take(out, 0, has_run); }
  // The same of one thread.
  bool take_one(std::vector<ThreadSnapshot>& out, u64 native) {
    return take(out, native, [](u64) { return true; });
  }
  const PythonCodes& codes() const { return codes_; }
  bool knows_gil() const { return layout_.gil_locked >= 0 && layout_.gil_holder >= 0; }

 private:
  // Part of a thread's stack of frames, at which frames were found the last time.
  struct Range {
    u64 begin = 0, end = 0;
    std::vector<char> first, second;  // what the two readings found
    bool read = false;
  };
  struct RawFrame {
    u64 frame, code, at, previous;
    u8 entered;
    bool operator==(const RawFrame&) const = default;
  };
  struct Thread {
    u64 state = 0;
    u64 pthread = 0, native = 0;  // its pthread_t, if the interpreter does not know its id in the kernel, and that
    u64 holders[2] = {};          // what the two readings found at PythonLayout::first ...
    u64 tops[2] = {};             // ... and, if that is an object that holds it, in there
    std::vector<Range> ranges;
    std::vector<RawFrame> frames,
        before;  // before: those of the last look, if they did not change while they were read
    bool unread = false, changed = false, cut = false, before_cut = false;
  };
  struct Interpreter {
    u64 address = 0;
    std::vector<u64> states;
  };
  bool take(std::vector<ThreadSnapshot>& out, u64 only, const HasRun& has_run);
  bool find_threads();
  bool read_states();
  void read_frames(std::vector<Thread*>& threads, bool second);
  void walk(Thread& thread);
  void compare(Thread& thread) const;
  bool field(const Thread& thread, u64 address, void* to, size_t bytes, bool second) const;
  bool frame_at(const Thread& thread, u64 frame, RawFrame& out, bool second) const;
  void keep_ranges(Thread& thread) const;
  u64 top_of(const Thread& thread, bool second) const;
  ThreadSnapshot shown(const Thread& thread, bool gil) const;
  void identify(Thread& thread, const char* state);

  const Memory& memory_;
  const PythonLayout layout_;
  const size_t limit_;
  PythonCodes codes_;
  ThreadIds ids_;
  size_t state_bytes_, frame_bytes_;  // of a thread state and a frame: so far they are read
  std::vector<Interpreter> interpreters_;
  std::vector<char> states_;  // as read, state_bytes_ each, in order of threads_
  std::vector<Thread> threads_;
  u64 range_bytes_ = 0;  // of the ranges of all threads
  u64 gil_holder_ = 0;
  u64 rounds_ = 0;
};

}  // namespace tprof::remote
