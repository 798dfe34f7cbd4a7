#include "collect/torch/layout.h"

#include <stdio.h>
#include <string.h>

#include <initializer_list>

#include "base/guard.h"
#include "collect/torch/callback_state.h"

namespace tprof {
namespace {

constexpr i64 kSentinel = 0x1122334455667788;
constexpr char kProbeName[] = "tprof probe: a name too long for a short string";
constexpr int kRangeBytes = 4096;    // for an at::RecordFunction, which takes less than 400 bytes
constexpr int kSearchedBytes = 512;  // how much of it is searched
constexpr u8 kUserScope = 7;

// The argument of RecordFunction::before since torch 2.7: std::variant<std::string_view, reference_wrapper<...>>.
struct NameOrSchema {
  u64 length;
  const char* text;
  u8 index = 0;
};

struct Probe {
  TorchLayout& layout;
  ElfObject torch;
  void (*construct)(void*, u8 scope) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*set_async)(void*) = nullptr;
  void (*before_text)(void*, const char*, i64) = nullptr;
  void (*before_variant)(void*, NameOrSchema, i64) = nullptr;
  u64 handle = 0;  // of the callback that is registered right now
  alignas(64) char record[kRangeBytes];

  bool can_begin() const { return before_text || before_variant; }
  void begin() {
    if (before_text)
      before_text(record, kProbeName, kSentinel);
    else
      before_variant(record, {sizeof kProbeName - 1, kProbeName}, kSentinel);
  }
};

int g_starts;  // calls of the callback below, which torch calls on one thread only

ObserverContext count_start(const void*) {
  g_starts++;
  return {};
}

// Registers a callback of ours with the given needs, constructs a range, runs `look`, and removes both again.
template <class F>
void with_range(Probe& p, bool inputs, bool outputs, bool ids, F look) {
  RecordFunctionCallback callback;
  callback.start = count_start;
  callback.scopes[kUserScope] = 1;
  callback.needs_inputs = inputs;
  callback.needs_outputs = outputs;
  callback.needs_ids = ids;
  p.handle = p.layout.add_thread_local_callback(callback);
  memset(p.record, 0xa5, sizeof p.record);
  p.construct(p.record, kUserScope);
  look();
  p.destroy(p.record);
  p.layout.remove_callback(p.handle);
  p.handle = 0;
}

// {u64 thread id, u8 scope, needs_inputs, needs_outputs, needs_ids}: the needs of our callback must appear
// there (those of a profiler that is running already may, too), which also proves that we and torch agree on
// RecordFunctionCallback.
void mark_needs(Probe& p, bool inputs, bool outputs, bool ids, bool (&possible)[kSearchedBytes]) {
  with_range(p, inputs, outputs, ids, [&] {
    const u8 wanted[3] = {inputs, outputs, ids};
    u64 thread = p.layout.current_thread_id();
    for (int at = 16; at < kSearchedBytes; at += 8) {
      bool fits = p.record[at] == kUserScope && load<u64>(p.record, at - 8) == thread;
      for (int i = 0; i < 3; i++) {
        u8 need = u8(p.record[at + 1 + i]);
        fits &= need == wanted[i] || (need == 1 && !wanted[i]);
      }
      possible[at] &= fits;
    }
  });
}

bool find_scope(Probe& p) {
  bool possible[kSearchedBytes] = {};
  for (int at = 16; at < kSearchedBytes; at += 8) possible[at] = true;
  mark_needs(p, true, false, true, possible);
  mark_needs(p, false, true, false, possible);
  mark_needs(p, true, false, false, possible);
  int found = 0;
  for (int at = 16; at < kSearchedBytes; at += 8)
    if (possible[at]) p.layout.scope = at, found++;
  if (found != 1) return false;
  p.layout.thread = p.layout.scope - 8;
  return true;
}

void find_sequence(Probe& p) {
  TorchLayout& l = p.layout;
  if (!p.can_begin()) return set_why(l.why, "RecordFunction::before has an unknown signature");
  with_range(p, true, false, false, [&] {
    g_starts = 0;
    p.begin();
    int found = 0;
    for (int at = 8; at < kSearchedBytes; at += 8)
      if (load<i64>(p.record, at) == kSentinel) l.sequence = at, found++;
    const char* name = l.name(p.record);
    if (found != 1 || g_starts != 1 || !name || strcmp(name, kProbeName) != 0)
      return set_why(l.why, "RecordFunction: the sequence number is not where it should be");
    l.sequence_ok = true;
    // A range that is named by a text reads the number of its inputs from here.
    int count = l.sequence + 16;
    u64 before = load<u64>(p.record, count - 8) | load<u64>(p.record, count);
    const u64 seven = 7;
    memcpy(p.record + count, &seven, sizeof seven);
    if (before == 0 && l.num_inputs && l.num_inputs(p.record) == 7) l.inputs = l.sequence + 8;
    memset(p.record + count, 0, sizeof seven);
    if (l.inputs < 0) set_why(l.inputs_why, "RecordFunction: the inputs are not where they should be");
  });
}

// {std::string or a schema's address, u8 which}. A string of the C++11 ABI has its length in its second word, of four;
// one of the ABI before is one word.
void find_name(Probe& p) {
  TorchLayout& l = p.layout;
  with_range(p, false, false, false, [&] {
    p.begin();
    const char* name = l.name(p.record);
    int found = 0, at = 0;
    for (int i = 0; i < kSearchedBytes - 40; i += 8)
      if (load<const char*>(p.record, i) == name) at = i, found++;
    if (found != 1) return;
    bool has_length = load<u64>(p.record, at + 8) == sizeof kProbeName - 1;
    int named = at + (has_length ? 32 : 8);
    if (p.record[named] != kNamedByText) return;
    l.name_at = at;
    l.name_bytes = has_length ? at + 8 : -1;
    l.named = named;
  });
}

// The forward thread, the handle and the async flag are neighbours in every version, though vendors insert fields
// before them. The exported setter shows where the flag is; handles that grow from range to range confirm the field
// before it.
void find_forward_thread(Probe& p) {
  TorchLayout& l = p.layout;
  if (!p.set_async || !l.is_async) return set_why(l.why, "RecordFunction::_setAsync is not exported");
  u64 handles[2] = {};
  for (u64& handle : handles) {
    with_range(p, true, false, true, [&] {
      p.begin();
      char snapshot[kSearchedBytes];
      memcpy(snapshot, p.record, sizeof snapshot);
      bool was = l.is_async(p.record);
      p.set_async(p.record);
      int changed = 0, at = -1;
      for (int i = 0; i < kSearchedBytes; i++)
        if (snapshot[i] != p.record[i]) at = i, changed++;
      bool is = l.is_async(p.record);
      if (changed) memcpy(p.record, snapshot, sizeof snapshot);
      if (changed != 1 || was || !is || at % 8 || at < l.sequence + 32 || load<u64>(p.record, at - 16) != 0) return;
      l.is_async_at = at;
      handle = load<u64>(p.record, at - 8);
    });
  }
  if (l.is_async_at > 0 && handles[0] > 0 && handles[1] > handles[0] && handles[1] - handles[0] < 1000) {
    l.forward_thread = l.is_async_at - 16;
    l.forward_thread_ok = true;
  } else {
    set_why(l.why, "RecordFunction: the forward thread is not where it should be");
  }
}

// A thread's state is the start of the object that manages its callbacks. A callback of the thread's own and its switch
// must appear in it. The version of the callbacks for all threads must follow, which proves that nothing else is in the
// state.
void find_callback_state(void* argument) {
  Probe& p = *static_cast<Probe*>(argument);
  const TorchLayout& l = p.layout;
  const CallbackState* (*state)();
  bool (*is_enabled)();
  void (*enable)(bool);
  if (!p.torch.symbol(state, "_ZN2at24get_record_function_tls_Ev") ||
      !p.torch.symbol(is_enabled, "_ZN2at23isRecordFunctionEnabledEv") ||
      !p.torch.symbol(enable, "_ZN2at20enableRecordFunctionEb"))
    return;
  const CallbackState* mine = state();
  auto empty = [&] { return mine->begin == mine->end; };
  auto version = [&] {  // the thread updates it when it gets a callback of its own
    u64 seen = 0;
    with_range(p, false, false, false, [&] { seen = empty() ? 0 : load<u64>(mine, sizeof *mine); });
    return seen;
  };
  bool before = empty();
  u64 first = version();
  u64 handle = l.add_global_callback({});
  u64 with_one = version();
  l.remove_callback(handle);
  u64 without = version();
  bool proven = before && empty() && first > 0 && with_one > first && without > with_one && without - first < 1000;

  bool was = is_enabled();
  for (bool on : {!was, was}) {
    enable(on);
    proven &= state() == mine && mine->enabled == on;
  }
  if (!proven) return;
  g_callback_setter.store(p.torch.symbol("_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE"),
                          std::memory_order_relaxed);
  g_callback_state.store(state, std::memory_order_relaxed);
}

void resolve(Probe& p) {
  TorchLayout& l = p.layout;
  const ElfObject& t = p.torch;
  t.symbol(l.add_global_callback, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
  t.symbol(l.add_thread_local_callback, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE");
  t.symbol(l.remove_callback, "_ZN2at14removeCallbackEm");
  t.symbol(l.name, "_ZNK2at14RecordFunction4nameEv");
  t.symbol(l.is_async, "_ZNK2at14RecordFunction7isAsyncEv");
  t.symbol(l.num_inputs, "_ZNK2at14RecordFunction10num_inputsEv");
  t.symbol(l.current_thread_id, "_ZN2at14RecordFunction15currentThreadIdEv");
  t.symbol(p.construct, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
  t.symbol(p.destroy, "_ZN2at14RecordFunctionD1Ev");
  t.symbol(p.set_async, "_ZN2at14RecordFunction9_setAsyncEv");
  t.symbol(p.before_text, "_ZN2at14RecordFunction6beforeEPKcl");
  t.symbol(p.before_variant,
           "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEE"
           "St17reference_wrapperIKN3c1014FunctionSchemaEEEEl");
  u64 (*abi_version)();
  if (t.symbol(abi_version, "aoti_torch_abi_version")) {
    u64 v = abi_version();
    snprintf(l.version, sizeof l.version, "%u.%u.%u", u8(v >> 56), u8(v >> 48), u8(v >> 40));
  }
}

void find_ranges(void* argument) {
  Probe& p = *static_cast<Probe*>(argument);
  if (!find_scope(p)) return set_why(p.layout.why, "RecordFunction: unknown layout");
  p.layout.ops = true;
  find_sequence(p);
  if (!p.can_begin()) return;
  find_name(p);
  find_forward_thread(p);
}

struct ValuesProbe {
  Probe& p;
  char why[96] = {};
  bool ok = false;
};

void find_values(void* argument) {
  auto& v = *static_cast<ValuesProbe*>(argument);
  v.ok = discover_values(v.p.torch, v.p.layout.values, v.why);
}

}  // namespace

void set_why(char (&why)[160], const char* reason) {
  if (!why[0]) snprintf(why, sizeof why, "%s", reason);
}

bool discover_layout(TorchLayout& layout) {
  layout = {};
  Probe p{layout, ElfObject::mapped("libtorch_cpu.so")};
  if (!p.torch.found()) {
    set_why(layout.why, "libtorch_cpu.so is not loaded");
    return false;
  }
  snprintf(layout.path, sizeof layout.path, "%s", p.torch.path());
  resolve(p);
  if (!layout.add_global_callback || !layout.add_thread_local_callback || !layout.remove_callback || !layout.name ||
      !layout.current_thread_id || !p.construct || !p.destroy) {
    set_why(layout.why, "libtorch_cpu.so lacks the functions to observe operators");
    return false;
  }
  if (!run_guarded(find_ranges, &p)) {
    if (p.handle) layout.remove_callback(p.handle);
    layout.sequence_ok = layout.forward_thread_ok = false;
    layout.inputs = layout.named = -1;
    set_why(layout.why, "RecordFunction: the probe faulted");
  }
  if (!layout.ops) return false;
  if (!run_guarded(find_callback_state, &p) && p.handle) layout.remove_callback(p.handle);
  ValuesProbe values{p};
  bool whole = run_guarded(find_values, &values);
  layout.inputs_ok = whole && values.ok && layout.inputs >= 0;
  if (!layout.inputs_ok) set_why(layout.inputs_why, whole ? values.why : "TensorImpl: the probe faulted");
  return true;
}

}  // namespace tprof
