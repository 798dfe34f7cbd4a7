#include "collect/python/watch.h"

#include <string.h>

#include "base/elf.h"
#include "collect/python/calls.h"
#include "collect/python/function_hook.h"
#include "collect/python/loader.h"
#include "collect/python/module_facts.h"
#include "collect/python/nesting.h"
#include "collect/python/optimizers.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "collect/steps/labels.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/marks.h"

namespace tprof {
namespace {

PyWord g_code{"__code__"}, g_context{"tracing_context"}, g_dynamo{"torch._dynamo"}, g_greenlet{"greenlet"};

bool g_modules_wanted;  // calls of modules will be recorded

PyObject* g_module_call;                // nn.Module.__call__, if it is hooked
PyObject* g_imported;                   // sys.modules
PyObject* g_compiling;                  // a threading.local of torch's, whose tracing_context is set while it compiles
const void* const* (*g_jit_tracing)();  // its first word is not 0 while torch.jit traces

// Whether torch traces or compiles: such module calls are not part of the program's loop.
bool makes_graph() {
  if (g_jit_tracing && *g_jit_tracing()) return true;
  if (!g_compiling || !g_py.PyDict_GetItem(g_imported, g_dynamo.get())) return false;
  PyOwned context(py_attribute(g_compiling, g_context));
  return context && context.get() != g_py.none;
}

// Returns true if only this thread's calls matter.
__attribute__((noinline)) bool module_called(PyObject* module) {
  if (makes_graph()) return false;
  bool gradients = torch_grad_enabled();
  ModuleFacts facts = module_facts(module, gradients);
  static u32 forwards;
  bool unsettled = gradients && facts.training && !g_session.steps_are_settled();
  if (unsettled) forwards++;
  bool look = unsettled && (forwards & (forwards - 1)) == 0;  // ever more rarely, since it takes long
  bool made = !look || optimizers_made();
  ThreadBlock* block = enter();
  if (!block) return false;
  bool alone = false;
  block->in_module.store(1, std::memory_order_relaxed);
  g_session.token(block, gradients && facts.training ? Evidence::forward : Evidence::none, [&](StepDetector& d) {
    if (look) d.optimizers_exist(made);
    d.module_called(before_labels(d, block, now_ticks()),
                    {module, gradients, facts.training, facts.parameter, facts.trains});
    alone = g_session.step_thread_is_sure();
  });
  leave(block);
  return alone;
}

template <class Use>
void step_token(Evidence evidence, Use use) {
  ThreadBlock* block = enter();
  if (!block) return;
  g_session.token(block, evidence, [&](StepDetector& d) { use(d, before_labels(d, block, now_ticks())); });
  g_session.resume_helper();
  leave(block);
}

// In an inference it shows where the last step ends.
void module_returned() {
  step_token(Evidence::none, [](StepDetector& d, u64) { d.module_returned(now_ticks()); });
}

void loader_opened() {
  step_token(Evidence::none, [](StepDetector& d, u64 t) { d.loader_opened(t); });
}

void draw_begins(PyObject* iterator) {
  step_token(Evidence::none, [=](StepDetector& d, u64 t) { d.draw_begins(t, iterator); });
}

void draw_ends(bool got_batch) {
  step_token(Evidence::none, [=](StepDetector& d, u64) { d.draw_ends(now_ticks(), got_batch); });
  if (got_batch) g_session.promote();
}

void gradients_cleared() {
  step_token(Evidence::none, [](StepDetector& d, u64 t) { d.gradients_cleared(t); });
}

// A scaler that is enabled looks after its scale; `why`: the name of the method that needs it.
void scale_checked(PyObject* why) {
  if (strcmp(py_text(why), "update")) return;
  step_token(Evidence::update, [](StepDetector& d, u64) { d.scaler_updated(now_ticks()); });
}

// Replays without gradients are an evaluation.
void graph_begins() {
  if (!torch_grad_enabled()) return;
  step_token(Evidence::none, [](StepDetector& d, u64 t) { d.graph_begins(t); });
}

void graph_replayed() {
  if (!torch_grad_enabled()) return;
  step_token(Evidence::none, [](StepDetector& d, u64) { d.graph_replayed(now_ticks()); });
}

void capture_begins() {
  step_token(Evidence::none, [](StepDetector& d, u64) { d.capture_begins(); });
}

void capture_ends() {
  step_token(Evidence::none, [](StepDetector& d, u64) { d.capture_ends(); });
}

void backward_announced(bool creates_graph) {
  if (!g_session.steps_are_settled()) {
    bool made = optimizers_made();  // the first pass shows what kind of program this is
    step_token(Evidence::none, [=](StepDetector& d, u64) { d.optimizers_exist(made); });
  }
  backward_begins(creates_graph);
}

// Whether the argument create_graph is given, which without its name is the `place`th, and not False.
bool creates_graph(PyObject* const* args, size_t count, PyObject* names, size_t place) {
  PyObject* value = count > place ? args[place] : nullptr;
  for (PySize i = 0, named = names && g_py.PyTuple_Size ? g_py.PyTuple_Size(names) : 0; i < named; i++)
    if (!strcmp(py_text(g_py.PyTuple_GetItem(names, i)), "create_graph")) value = args[count + size_t(i)];
  return value && value != g_py.no && value != g_py.none;
}

// --- hooks. No exception is pending when a function is called; if it returns nullptr, one is.

// Calls inside a call matter only if they are recorded. Otherwise the hook is paused during the outermost call.
PyObject* module_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  Nesting& nesting = nesting_now();
  u32 around = nesting.modules++;
  bool alone = around == 0 && nesting.fetching == 0 && hooked_count(count) > 0 && module_called(args[0]);
  bool pauses = alone && !g_modules_wanted && !has_greenlets();
  bool recorded = calls_are_recorded() && hooked_count(count) > 0;  // now: a window may begin with this call
  if (recorded) call_starts(g_module_code, args[0]);
  if (pauses) pause_hook(function);
  PyObject* result = g_call_function(function, args, count, names);
  if (pauses) resume_hook(function);
  nesting_now().modules = around;
  if (around == 0 && t_self.block) t_self.block->in_module.store(0, std::memory_order_relaxed);
  if (recorded) call_ends(g_module_code);
  if (around == 0 && nesting_now().fetching == 0 && !g_session.steps_are_settled()) module_returned();
  return result;
}

template <size_t kCreateGraph>
PyObject* backward_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  backward_announced(creates_graph(args, hooked_count(count), names, kCreateGraph));
  PyObject* result = g_call_function(function, args, count, names);
  backward_returns();
  return result;
}

PyObject* loader_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  bool outermost = nesting_now().fetching == 0;
  if (outermost) loader_opened();
  PyObject* iterator = g_call_function(function, args, count, names);
  if (outermost && iterator && hooked_count(count) > 0) loader_made(args[0], iterator);
  return iterator;
}

PyObject* batch_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  u32 around = nesting_now().fetching++;
  bool outermost = around == 0 && hooked_count(count) > 0;
  if (outermost) draw_begins(args[0]);
  u64 begin = now_ticks();
  PyObject* result = g_call_function(function, args, count, names);
  nesting_now().fetching = around;
  if (outermost && result) loader_drawn(args[0], begin);
  if (outermost) draw_ends(result != nullptr);
  return result;
}

PyObject* zero_grad_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  gradients_cleared();
  return g_call_function(function, args, count, names);
}

PyObject* scaler_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = g_call_function(function, args, count, names);
  if (result && hooked_count(count) > 1) scale_checked(args[1]);
  return result;
}

PyObject* graph_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  graph_begins();
  PyObject* result = g_call_function(function, args, count, names);
  if (result) graph_replayed();
  return result;
}

PyObject* capture_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = g_call_function(function, args, count, names);
  if (result) capture_begins();
  return result;
}

PyObject* captured_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = g_call_function(function, args, count, names);
  capture_ends();  // also if that failed
  return result;
}

constexpr struct {
  const char* kind;
  PyHook* hook;
} kHooks[] = {{"module", module_hook},     {"backward", backward_hook<3>}, {"grad", backward_hook<4>},
              {"loader", loader_hook},     {"batch", batch_hook},          {"zero_grad", zero_grad_hook},
              {"scaler", scaler_hook},     {"graph", graph_hook},          {"capture", capture_hook},
              {"captured", captured_hook}, {"worker", worker_loop_hook}};

PyHook* hook_of(const char* kind) {
  for (const auto& known : kHooks)
    if (!strcmp(known.kind, kind)) return known.hook;
  return nullptr;
}

}  // namespace

PyObject* watch_function(PyObject*, PyObject* const* args, PySize count) {
  PyHook* hook = count == 3 ? hook_of(py_text(args[0])) : nullptr;
  if (!hook || !hook_function(args[1], args[2], hook, hook == backward_hook<3> || hook == backward_hook<4>))
    return g_py.new_none();
  if (hook == module_hook) {
    g_module_code = py_attribute(args[1], g_code);
    const Options& o = g_session.options();
    g_modules_wanted = o.with_modules || o.with_stack.has(kStackCalls);
    g_module_call = args[1];
  }
  return g_py.PyUnicode_FromString("yes");
}

PyObject* watch_switch(PyObject*, PyObject* const* args, PySize count) {
  auto phase = Phase(count == 1 ? g_py.PyLong_AsLong(args[0]) : 0);
  switch_hooks(phase == Phase::ended ? Hooks::off : phase == Phase::resting ? Hooks::rest : Hooks::on);
  return g_py.new_none();
}

PyObject* watch_begin(PyObject*, PyObject* const* args, PySize count) {
  if (count != 3) return g_py.new_none();
  optimizers_prepare(args[0]);
  g_running_optimizer = running_optimizer;
  g_optimizers_made = optimizers_made_by_now;
  g_py.Py_IncRef(g_imported = args[1]);
  if (g_py.PyDict_GetItem(g_imported, g_greenlet.get())) greenlets_come();
  if (args[2] != g_py.none) g_py.Py_IncRef(g_compiling = args[2]);
  ElfObject::mapped("libtorch_cpu.so").symbol(g_jit_tracing, "_ZN5torch3jit6tracer15getTracingStateEv");
  return g_py.new_none();
}

void watch_in_child() {
  nesting_in_child();
  module_facts_in_child();
  if (g_module_call) resume_hook(g_module_call);
}

PyObject* watch_zero_grad(PyObject*, PyObject* const*, PySize) {
  gradients_cleared();
  return g_py.new_none();
}

PyObject* watch_backward_begins(PyObject*, PyObject* const*, PySize) {
  backward_announced(false);
  return g_py.new_none();
}

PyObject* watch_backward_ends(PyObject*, PyObject* const*, PySize) {
  backward_returns();
  return g_py.new_none();
}

PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0) scale_checked(args[0]);
  return g_py.new_none();
}

PyObject* watch_graph_begins(PyObject*, PyObject* const*, PySize) {
  graph_begins();
  return g_py.new_none();
}

PyObject* watch_capture_begins(PyObject*, PyObject* const*, PySize) {
  capture_begins();
  return g_py.new_none();
}

PyObject* watch_capture_ends(PyObject*, PyObject* const*, PySize) {
  capture_ends();
  return g_py.new_none();
}

PyObject* watch_graph_replayed(PyObject*, PyObject* const*, PySize) {
  graph_replayed();
  return g_py.new_none();
}

}  // namespace tprof
