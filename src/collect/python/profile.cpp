#include "collect/python/profile.h"

#include <string.h>

#include "collect/python/calls.h"

namespace tprof {
namespace {

PyObject* g_mark;  // what sys.getprofile() returns while ours is on
bool g_on;

PyWord g_code{"f_code"};

// Where a thread state of this Python holds its profile function; 0: not known.
constexpr size_t kStateBytes = 256;  // that are looked at; it is larger in every version
size_t g_function_at;

PyObject* code_of(PyObject* frame) {
  return g_py.PyFrame_GetCode ? g_py.PyFrame_GetCode(frame) : py_attribute(frame, g_code);
}

// Events, as Python numbers them.
enum What { kCall = 0, kReturn = 3, kBuiltinCall = 4, kBuiltinRaise = 5, kBuiltinReturn = 6 };

// A return is also reported for a function that an exception left.
int profile(PyObject*, PyObject* frame, int what, PyObject* argument) {
  if (!g_on) return g_py.PyEval_SetProfile(nullptr, nullptr), 0;
  if (what == kCall || what == kReturn) {
    PyOwned code(code_of(frame));
    if (!code || code.get() == g_module_code) return 0;
    if (what == kCall) call_starts(code.get(), nullptr);
    if (what == kReturn) call_ends(code.get());
  }
  if (what == kBuiltinCall) builtin_starts(argument, argument);
  if (what == kBuiltinReturn || what == kBuiltinRaise) builtin_ends(argument);
  return 0;
}

using State = const unsigned char*;

const void* function_of(const void* thread) {
  const void* function;
  memcpy(&function, State(thread) + g_function_at, sizeof function);
  return function;
}

// One of the threads is this one, which has ours, and no other word of its state is the same.
void find_function(void* first) {
  for (void* thread = first; thread && !g_function_at; thread = g_py.PyThreadState_Next(thread))
    for (size_t at = sizeof(void*); at < kStateBytes; at += sizeof(void*)) {
      const void* word;
      memcpy(&word, State(thread) + at, sizeof word);
      if (word == reinterpret_cast<const void*>(profile)) g_function_at = at;
    }
}

}  // namespace

const char* profile_prepare(PyObject* mark) {
  if (!g_py.PyEval_SetProfile) return "this Python has no PyEval_SetProfile";
  g_py.Py_IncRef(mark);
  g_mark = mark;
  return "";
}

void profile_switch(bool on) {
  g_on = on;
  if (!on) return;  // each thread removes it by itself, since it may have another function by now
  profile_this_thread();
  bool all = g_py._PyEval_SetProfile && g_py.PyInterpreterState_Main && g_py.PyInterpreterState_ThreadHead &&
             g_py.PyThreadState_Next;
  if (!all) return;
  void* first = g_py.PyInterpreterState_ThreadHead(g_py.PyInterpreterState_Main());
  if (!g_function_at) find_function(first);
  if (!g_function_at) return;
  for (void* thread = first; thread; thread = g_py.PyThreadState_Next(thread))
    if (!function_of(thread) && g_py._PyEval_SetProfile(thread, profile, g_mark) != 0) g_py.PyErr_Clear();
}

void profile_this_thread() {
  if (g_on)
    g_py.PyEval_SetProfile(profile, g_mark);
  else
    g_py.PyEval_SetProfile(nullptr, nullptr);
}

}  // namespace tprof
