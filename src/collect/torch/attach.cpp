#include "collect/torch/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "base/log.h"
#include "collect/interpreter/frames.h"
#include "collect/interpreter/inittab.h"
#include "collect/recorder/recorder.h"
#include "collect/torch/memory.h"
#include "collect/torch/ops.h"

namespace tprof {

constinit TorchLayout g_torch;

namespace {

u64 g_handle;  // of the registered callback, 0: none
bool (*g_grad_enabled)();

void set_level(Level level) {
  if (g_handle) g_torch.remove_callback(g_handle);
  g_handle = 0;
  memory_switch(level != Level::none && g_session.options().profile_memory);
  if (level == Level::none) return;
  RecordFunctionCallback callback;
  callback.end = range_ends;
  // No more scopes than needed: torch goes through the scopes of each callback whenever it sets a thread's state, which
  // is twice for each autograd node (except where callback_state.h avoids it).
  bool all = level == Level::all;
  callback.scopes[u8(Scope::user)] = 1;
  callback.scopes[u8(Scope::backward)] = level >= Level::steps;
  callback.scopes[u8(Scope::function)] = callback.scopes[u8(Scope::torchscript)] = all;
  callback.needs_inputs = all && ops_read_inputs();
  callback.start = ops_start(all);
  g_handle = g_torch.add_global_callback(callback);
}

void note_what_needs_python() {
  const Options& o = g_session.options();
  const char* python = "the program is not written in Python";
  if (o.with_modules && !python_process()) g_session.capability("with_modules", false, python);
  if (o.with_stack.has(kStackCalls) && !python_process()) g_session.capability("python_calls", false, python);
}

}  // namespace

bool torch_mapped() { return ElfObject::mapped("libtorch_cpu.so").found(); }

bool torch_grad_enabled() { return !g_grad_enabled || g_grad_enabled(); }

bool torch_join(StepMode fallback, void (*phase_changed)(Phase), void (*pass_phase_on)()) {
  bool joined = g_session.attach({set_level, phase_changed, pass_phase_on}, fallback);
  if (!joined) memory_switch(false);
  return joined;
}

bool torch_attach() {
  if (!discover_layout(g_torch) || !g_torch.ops || !init_threads()) {
    if (!g_session.is_helper())
      say("this torch cannot be profiled (%s); the program continues without profiling. tprof doctor has details",
          g_torch.why[0] ? g_torch.why : "its functions were not found");
    memory_switch(false);
    return false;
  }
  g_framework_thread_id = g_torch.current_thread_id;
  ElfObject::mapped("libc10.so").symbol(g_grad_enabled, "_ZN3c108GradMode10is_enabledEv");
  return true;
}

void torch_note_capabilities() {
  const Options& o = g_session.options();
  g_session.capability("ops", true, "");
  g_session.capability("sequence_numbers", g_torch.sequence_ok, g_torch.sequence_ok ? "" : g_torch.why);
  g_session.capability("forward_threads", g_torch.forward_thread_ok, g_torch.forward_thread_ok ? "" : g_torch.why);
  bool shapes = o.record_shapes && g_torch.inputs_ok;
  g_session.capability("record_shapes", shapes,
                       shapes             ? ""
                       : !o.record_shapes ? "switched off by TPROF_RECORD_SHAPES"
                                          : g_torch.inputs_why);
  if (o.with_flops)
    g_session.capability("with_flops", shapes, shapes ? "" : "inputs are not recorded, see record_shapes");
  // In Python the bootstrap script has allocated a tensor; before main of a C++ program there was no allocation yet.
  bool works = memory_was_reported() || !python_process();
  if (o.profile_memory)
    g_session.capability("profile_memory", works,
                         works ? "" : "this torch does not report through c10's exported functions");
  note_what_needs_python();
}

void torch_attach_native() {
  if (!torch_mapped() || !torch_join(StepMode::backward, nullptr, nullptr)) return;
  if (!torch_attach()) return;
  g_session.note_command();
  if (g_torch.version[0]) g_session.note("torch", g_torch.version);
  g_session.capability(
      "steps", true,
      "in a C++ program every backward pass counts as a step, unless TPROF_STEP or tprof_step() defines steps");
  torch_note_capabilities();
  python_stacks_note();
  g_session.export_environment();
  g_session.start();
}

}  // namespace tprof
