// Where the interpreter keeps what a thread is running: from the thread state along the frames to their code objects
// and instructions. No API reports this. It is learnt from frames that Python itself describes (sys._getframe), and
// proven on others (generators, calls through C, specialised constructors, recursion) before it is used.
//
// All memory is read under base/guard.h, so an interpreter with another layout (free-threaded, a vendor's build) has no
// call stacks, but suffers nothing else.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

struct FrameLayout {
  i32 first = -1;     // in the thread state: the innermost frame, or (second >= 0) an object that holds it
  i32 second = -1;    // in that object: the innermost frame
  i32 code = -1;      // in a frame: its code object; the low bits are the interpreter's
  i32 previous = -1;  // in a frame: the caller's frame
  i32 at = -1;        // in a frame: the current instruction, its address or (before 3.11) its number
  u64 at_mask = 0;    // of the 8 bytes there
  i32 entered = -1;   // in a frame: whether the interpreter was entered with it, a byte (3.11 only)
  i32 at_bytes = 0;   // of an instruction where it is a number, 0: it is an address
};
extern FrameLayout g_frame_layout;

// Python source (frame_layout.py) that must be run with the functions below as `learn`, `prove`, `watch_ends`,
// `ended` and `proven`. nullptr: nothing can be learnt from this Python.
const char* frame_layout_script();

// learn(chain, codes, strings, headers, abi flags): the frames from the caller's outwards as (code, f_lasti) pairs;
// code objects with the number of their first traceable instruction; the arguments of learn_raw_text(). True if
// everything was found.
PyObject* learn_frames(PyObject*, PyObject* const* args, PySize count);
// prove(chain): whether a walk finds the same frames with the same names.
PyObject* prove_frames(PyObject*, PyObject* const* args, PySize count);
// watch_ends() replaces the deallocator of code objects. ended(count): whether so many were freed since then.
PyObject* watch_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* have_ended(PyObject*, PyObject* const* args, PySize count);
// proven(text): "yes", or the reason why the layout is not proven.
PyObject* frames_proven(PyObject*, PyObject* const* args, PySize count);
// "" if the layout is proven, else the reason why not.
const char* frame_layout_why();

}  // namespace tprof
