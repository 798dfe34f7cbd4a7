// Where the interpreter keeps what a thread is running: from its thread state along the frames to their code objects and
// instructions. No Python tells; it is learnt from frames that Python itself describes (sys._getframe), and proven on
// others (generators, calls through C, specialised constructors, recursion) before it is used.
//
// Everything is read under the guard, so a build that is laid out otherwise (free-threaded, a vendor's) costs the stacks
// and nothing else.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

struct FrameLayout {
  i32 first = -1;     // in the thread state: the innermost frame, or (second >= 0) what holds it
  i32 second = -1;    // in what the thread state points to: the innermost frame
  i32 code = -1;      // in a frame: what it runs; the low bits are the interpreter's
  i32 previous = -1;  // in a frame: its caller's
  i32 at = -1;        // in a frame: the current instruction, its address or (before 3.11) its number
  u64 at_mask = 0;    // of the 8 bytes there
  i32 entered = -1;   // in a frame: whether the interpreter was entered with it, a byte (3.11 only)
  i32 at_bytes = 0;   // of an instruction where it is a number, 0: it is an address
};
extern FrameLayout g_frame_layout;

// Python source to run with the functions below as `learn`, `prove`, `watch_ends`, `ended` and `proven`; nullptr: nothing
// can be learnt here. frame_layout_script.cpp has it.
const char* frame_layout_script();
extern const char kFrameLayoutScript[];

// learn(chain, codes, strings, headers, abi flags): the frames from the caller's outwards as (code, f_lasti) pairs; code
// objects with the number of their first traceable instruction; what learn_raw_text() wants. True if all was found.
PyObject* learn_frames(PyObject*, PyObject* const* args, PySize count);
// prove(chain): whether a walk sees the same, with the same names.
PyObject* prove_frames(PyObject*, PyObject* const* args, PySize count);
// watch_ends(), and ended(count): whether so many code objects ended since.
PyObject* watch_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* have_ended(PyObject*, PyObject* const* args, PySize count);
// proven(text): "yes", or what did not hold.
PyObject* frames_proven(PyObject*, PyObject* const* args, PySize count);
// "": all was proven; else what was not.
const char* frame_layout_why();

}  // namespace tprof
