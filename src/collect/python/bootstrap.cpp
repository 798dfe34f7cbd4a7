#include "collect/python/bootstrap.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "collect/interpreter/api.h"
#include "collect/interpreter/frame_layout.h"
#include "collect/interpreter/frames.h"
#include "collect/interpreter/inittab.h"
#include "collect/python/builtins.h"
#include "collect/python/calls.h"
#include "collect/python/nesting.h"
#include "collect/python/parameters.h"
#include "collect/python/profile.h"
#include "collect/python/watch.h"
#include "collect/session/session.h"
#include "collect/steps/schedule.h"
#include "collect/torch/attach.h"
#include "collect/torch/calibrate.h"
#include "collect/torch/groups.h"

namespace tprof {
namespace {

const char kBootstrapScript[] =
#include "script.py.inc"
    ;

bool g_joined;  // to torch
std::atomic<bool> g_ran{false};
PyObject* g_on_phase;  // the script's function, called with the Phase
std::atomic<u32> g_phase{0};
std::atomic<u32> g_phase_known{0};  // to the script
std::atomic<bool> g_call_pending{false};
std::atomic<bool> g_python_ends{false};
std::atomic<u32> g_passing{0};  // threads in pass_phase_on()
bool g_calls_ready;             // calls of modules and functions may be recorded
bool g_functions_ready;         // those of functions, which the script switches

using Args = PyObject* const*;

PyObject* yes_or_none(bool yes) { return yes ? g_py.PyUnicode_FromString("yes") : g_py.new_none(); }

// On the main thread, with the GIL, between two bytecodes.
int phase_call(void*) {
  g_call_pending.store(false);
  Phase phase = Phase(g_phase.load());
  g_phase_known.store(u32(phase));
  PyObject* result = g_py.PyObject_CallFunction(g_on_phase, "i", int(phase));
  if (!result) return -1;  // one of the program's signal handlers raised: the script catches our own exceptions
  g_py.Py_DecRef(result);
  return 0;
}

// A main thread that waits in C, for a training in another thread for example, does nothing for the script meanwhile.
void note_missed(Phase before, Phase now) {
  static std::atomic<bool> noted{false};
  bool missed = records(before) && !records(now) && !records(Phase(g_phase_known.load()));
  if (g_functions_ready && missed && !noted.exchange(true))
    g_session.capability(
        "python_calls", false,
        "the main thread waited in a call into C throughout a window, so that calls were not recorded");
}

void phase_changed(Phase phase) {
  note_missed(Phase(g_phase.exchange(u32(phase))), phase);
  if (g_calls_ready) calls_record(records(phase));
}

// Passes the phase to the Python side, soon and on the main thread. From any thread, with or without the GIL. Not once
// Python ends: it would add the call to an interpreter that is freed.
void pass_phase_on() {
  g_passing++;
  if (!g_python_ends && g_py.Py_IsInitialized() && g_on_phase && !g_call_pending.exchange(true) &&
      g_py.Py_AddPendingCall(phase_call, nullptr) != 0)
    g_call_pending.store(false);
  g_passing--;
}

// Python's atexit functions run. Threads without the GIL may still record operators, and change the phase.
PyObject* python_ends(PyObject*, Args, PySize) {
  g_python_ends = true;
  for (int tries = 0; g_passing && tries < 1000; tries++) sched_yield();
  python_stacks_stop();
  return g_py.new_none();
}

// attach(key, value, key, value, ...) -> "K=V" lines for os.environ. attached() returns whether to continue.
PyObject* attach(PyObject*, Args args, PySize count) {
  if (!torch_join(StepMode::automatic, phase_changed, pass_phase_on))
    return g_py.PyUnicode_FromString(g_session.exports());
  for (PySize i = 0; i + 1 < count; i += 2) {
    const char* key = g_py.PyUnicode_AsUTF8(args[i]);
    const char* value = key ? g_py.PyUnicode_AsUTF8(args[i + 1]) : nullptr;
    if (value) g_session.note(key, value);
    g_py.PyErr_Clear();
  }
  g_session.note_command();
  g_joined = torch_attach();
  return g_py.PyUnicode_FromString(g_session.exports());
}

PyObject* attached(PyObject*, Args, PySize) { return yes_or_none(g_joined); }

// "", "modules" or "calls": what is to be recorded of Python calls, see calls.h.
const char* wanted_calls() {
  const Options& o = g_session.options();
  return o.with_stack.has(kStackCalls) ? "calls" : o.with_modules ? "modules" : "";
}

// stack_calibration() -> the script that learns the layout of frames, or None.
PyObject* stack_calibration(PyObject*, Args, PySize) {
  const char* script = python_stacks_wanted() || *wanted_calls() ? frame_layout_script() : nullptr;
  return script ? g_py.PyUnicode_FromString(script) : g_py.new_none();
}

PyObject* stacks_start(PyObject*, Args, PySize) {
  python_stacks_start();
  return g_py.new_none();
}

// calibration() -> the script to run before calibrated(), or None.
PyObject* calibration(PyObject*, Args, PySize) {
  if (!calibration_begin(g_torch)) return g_py.new_none();
  return g_py.PyUnicode_FromString(kCalibrationScript);
}

PyObject* calibrated(PyObject*, Args, PySize) {
  calibration_end(g_torch);
  return g_py.new_none();
}

// start(on_phase, watching): everything is set up. `watching` is "" or the reason why steps are found less well.
PyObject* start(PyObject*, Args args, PySize count) {
  if (count == 2) {
    g_py.Py_IncRef(args[0]);
    g_on_phase = args[0];
    const char* why = g_py.PyUnicode_AsUTF8(args[1]);
    if (why) g_session.capability("steps", !*why, why);
  }
  torch_note_capabilities();
  g_session.start();
  return g_py.new_none();
}

PyObject* child_ready(PyObject*, Args, PySize) {
  watch_in_child();
  g_session.child_ready();
  return g_py.new_none();
}

// note(key, value)
PyObject* note(PyObject*, Args args, PySize count) {
  const char* key = count == 2 ? g_py.PyUnicode_AsUTF8(args[0]) : nullptr;
  const char* value = key ? g_py.PyUnicode_AsUTF8(args[1]) : nullptr;
  if (value) g_session.note(key, value);
  g_py.PyErr_Clear();
  return g_py.new_none();
}

// joins_job(rank)
PyObject* joins_job(PyObject*, Args args, PySize count) {
  i64 rank = count == 1 ? g_py.PyLong_AsLong(args[0]) : -1;
  g_py.PyErr_Clear();
  if (rank >= 0 && rank <= INT32_MAX) g_session.joins_job(i32(rank));
  return g_py.new_none();
}

// learn_group(process group, where the fields of an object begin, name, description, ranks, how many, sequence): its
// Python object begins with the address of the C++ object.
PyObject* learn_group(PyObject*, Args args, PySize count) {
  if (count != 7) return g_py.new_none();
  long fields = g_py.PyLong_AsLong(args[1]);
  ProcessGroup group{};
  if (fields >= 16 && fields <= 64) memcpy(&group.address, reinterpret_cast<char*>(args[0]) + fields, 8);
  group.name = g_py.PyUnicode_AsUTF8(args[2]);
  group.description = g_py.PyUnicode_AsUTF8(args[3]);
  group.ranks = g_py.PyUnicode_AsUTF8(args[4]);
  group.size = u32(g_py.PyLong_AsLong(args[5]));
  group.sequence = g_py.PyLong_AsLong(args[6]);
  g_py.PyErr_Clear();
  if (group.name && group.description && group.ranks) group_learn(group);
  return g_py.new_none();
}

// capability(name, why): the capability is off, unless `why` is empty.
PyObject* capability(PyObject*, Args args, PySize count) {
  const char* name = count == 2 ? g_py.PyUnicode_AsUTF8(args[0]) : nullptr;
  const char* why = name ? g_py.PyUnicode_AsUTF8(args[1]) : nullptr;
  if (why) g_session.capability(name, !*why, why);
  g_py.PyErr_Clear();
  return g_py.new_none();
}

// PyMethodDef, and METH_FASTCALL.
struct Method {
  const char* name;
  PyObject* (*function)(PyObject*, Args, PySize);
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x0080;

// --- recording calls, see calls.h

PyObject* calls_wanted(PyObject*, Args, PySize) { return g_py.PyUnicode_FromString(wanted_calls()); }

// calls_prepare(this function, torch.nn.Parameter) -> the reason why calls cannot be recorded, or "".
extern Method g_calls_prepare;
PyObject* calls_prepare(PyObject*, Args args, PySize count) {
  if (const char* why = frame_layout_why(); *why) return g_py.PyUnicode_FromString(why);
  if (count != 2 || !builtins_prepare(args[0], &g_calls_prepare))
    return g_py.PyUnicode_FromString("objects of this Python are not laid out as expected");
  parameters_prepare(args[1]);
  g_calls_ready = true;
  return g_py.PyUnicode_FromString("");
}
Method g_calls_prepare{"calls_prepare", calls_prepare, kFastCall, nullptr};

PyObject* module_hooked(PyObject*, Args, PySize) { return yes_or_none(g_module_code != nullptr); }

// functions_ready(): the script switches something that reports calls of functions.
PyObject* functions_ready(PyObject*, Args, PySize) {
  g_functions_ready = true;
  return g_py.new_none();
}

// profile_begin(mark) -> the reason why calls cannot be profiled, or "".
PyObject* profile_begin(PyObject*, Args args, PySize count) {
  return g_py.PyUnicode_FromString(count == 1 ? profile_prepare(args[0]) : "internal");
}

PyObject* profile_all(PyObject*, Args args, PySize count) {
  profile_switch(count == 1 && g_py.PyObject_IsTrue(args[0]) == 1);
  return g_py.new_none();
}

// A threading.setprofile() function.
PyObject* profile_here(PyObject*, Args, PySize) {
  profile_this_thread();
  return g_py.new_none();
}

Method g_methods[] = {{"attach", attach, kFastCall, nullptr},
                      {"attached", attached, kFastCall, nullptr},
                      {"calibration", calibration, kFastCall, nullptr},
                      {"calibrated", calibrated, kFastCall, nullptr},
                      {"stack_calibration", stack_calibration, kFastCall, nullptr},
                      {"learn_frames", learn_frames, kFastCall, nullptr},
                      {"prove_frames", prove_frames, kFastCall, nullptr},
                      {"watch_ends", watch_ends, kFastCall, nullptr},
                      {"have_ended", have_ended, kFastCall, nullptr},
                      {"frames_proven", frames_proven, kFastCall, nullptr},
                      {"stacks_start", stacks_start, kFastCall, nullptr},
                      {"python_ends", python_ends, kFastCall, nullptr},
                      {"start", start, kFastCall, nullptr},
                      {"child_ready", child_ready, kFastCall, nullptr},
                      {"note", note, kFastCall, nullptr},
                      {"joins_job", joins_job, kFastCall, nullptr},
                      {"learn_group", learn_group, kFastCall, nullptr},
                      {"watch_begin", watch_begin, kFastCall, nullptr},
                      {"gradients_cleared", watch_zero_grad, kFastCall, nullptr},
                      {"backward_begins", watch_backward_begins, kFastCall, nullptr},
                      {"backward_ends", watch_backward_ends, kFastCall, nullptr},
                      {"scaler_updated", watch_scaler_updated, kFastCall, nullptr},
                      {"graph_begins", watch_graph_begins, kFastCall, nullptr},
                      {"graph_replayed", watch_graph_replayed, kFastCall, nullptr},
                      {"capture_begins", watch_capture_begins, kFastCall, nullptr},
                      {"capture_ends", watch_capture_ends, kFastCall, nullptr},
                      {"call_starts", watch_call_starts, kFastCall, nullptr},
                      {"call_ends", watch_call_ends, kFastCall, nullptr},
                      {"builtin_starts", watch_builtin_starts, kFastCall, nullptr},
                      {"builtin_ends", watch_builtin_ends, kFastCall, nullptr},
                      {"capability", capability, kFastCall, nullptr},
                      {"calls_wanted", calls_wanted, kFastCall, nullptr},
                      {"learn_parameter", learn_parameter, kFastCall, nullptr},
                      {"module_hooked", module_hooked, kFastCall, nullptr},
                      {"functions_ready", functions_ready, kFastCall, nullptr},
                      {"profile_begin", profile_begin, kFastCall, nullptr},
                      {"profile_all", profile_all, kFastCall, nullptr},
                      {"profile_here", profile_here, kFastCall, nullptr},
                      {"watch_function", watch_function, kFastCall, nullptr},
                      {"watch_switch", watch_switch, kFastCall, nullptr}};

PyObject* make_function(Method& method) {
  if (g_py.PyCFunction_NewEx) return g_py.PyCFunction_NewEx(&method, nullptr, nullptr);
  return g_py.PyCMethod_New(&method, nullptr, nullptr, nullptr);
}

// GIL held, the import of torch has just begun.
void run_script() {
  constexpr int kFileInput = 257;
  KeepException keep;
  PyObject* globals = g_py.PyDict_New();
  if (!globals) return;
  g_py.PyDict_SetItemString(globals, "__builtins__", g_py.PyEval_GetBuiltins());
  auto add = [&](Method& method) {
    PyOwned function(make_function(method));
    if (function) g_py.PyDict_SetItemString(globals, method.name, function.get());
  };
  for (Method& method : g_methods) add(method);
  add(g_calls_prepare);
  PyOwned code(g_py.Py_CompileString(kBootstrapScript, kOwnFile, kFileInput));
  if (code) PyOwned result(g_py.PyEval_EvalCode(code.get(), globals, globals));
  g_py.PyErr_Clear();
  g_py.Py_DecRef(globals);
}

// Whether this package or a part of it is to be imported. args: (its name, ...)
bool names(PyObject* args, const char* package) {
  PyObject* name = g_py.PyTuple_GetItem(args, 0);
  const char* text = name ? g_py.PyUnicode_AsUTF8(name) : nullptr;
  if (!text) g_py.PyErr_Clear();
  size_t bytes = strlen(package);
  return text && !strncmp(text, package, bytes) && (!text[bytes] || text[bytes] == '.');
}

// Runs the script as soon as torch is being imported: its module is there, and its code is about to run or runs. No
// event says that importlib.import_module() imports torch, but one comes for each part that torch imports of itself.
// Never returns non-zero: that would abort what the program is doing.
int audit(const char* event, PyObject* args, void*) {
  static std::atomic<bool> expected{false};
  bool imports = !strcmp(event, "import");
  if (g_ran.load(std::memory_order_relaxed)) {
    if (imports && !has_greenlets() && names(args, "greenlet")) greenlets_come();
    return 0;
  }
  if ((!imports && strcmp(event, "exec") != 0) || !g_py.Py_IsInitialized()) return 0;
  if (imports && !expected.load(std::memory_order_relaxed) && names(args, "torch")) expected.store(true);
  if (!expected.load(std::memory_order_relaxed)) return 0;
  PyObject* modules = g_py.PyImport_GetModuleDict();
  if (modules && g_py.PyDict_GetItemString(modules, "torch") && !g_ran.exchange(true)) run_script();
  return 0;
}

}  // namespace

bool python_install() {
  return g_py.load() && python_when_set_up([] { g_py.PySys_AddAuditHook(audit, nullptr); });
}

}  // namespace tprof
