#include "collect/torch/calibrate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "collect/torch/inputs.h"
#include "record/record.h"

namespace tprof {

const char kCalibrationScript[] =
#include "calibrate.py.inc"
    ;

namespace {

// What the first inputs must decode to; later versions may append more. A `?` in the decoded text matches any value: a
// kind of value that is not proven is left out, which is not an error.
struct Expected {
  const char* op;
  const char* inputs;
};
const Expected kExpected[] = {
    {"aten::empty_strided", "[2,3] [1,2] 6 - "},
    {"aten::empty_strided", "[1,2,1,2,1,3] [12,6,6,3,3,1] 7 - "},
    {"aten::cat", "{t6(2,3|1,2)t6(2,3|1,2)t6(2,3|1,2)} 1 "},
    {"aten::sum", "t6(2,3|1,2) [1] true - "},
    {"aten::add", "t6(2,3|1,2) t4(1|1) 2.5 "},
    {"aten::div", "t6(2,3|1,2) t6(2,3|1,2) 'floor' "},
    {"aten::clone", "t7(1,2,1,2,1,3|12,6,6,3,3,1) - "},
    {"aten::index", "t6(2,3|1,2) list1 "},
    {"aten::full", "[1] 1.5-2i 10 "},
};
constexpr int kSteps = int(sizeof kExpected / sizeof *kExpected);
constexpr int kCandidates = 4;

struct Text {
  char text[512] = {};
  u32 length = 0;
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text + length, sizeof text - length, format, list);
    va_end(list);
    if (n > 0) length = u32(n) < sizeof text - length ? length + u32(n) : u32(sizeof text - 1);
  }
};

// Writes the output of encode_inputs() as text, one input after the other.
class Renderer {
 public:
  Renderer(const char* data, u32 bytes, Text& text) : at_(data), end_(data + bytes), text_(text) {}
  bool value();

 private:
  void numbers(const InputHead& head, const char* payload);
  const char* at_;
  const char* end_;
  Text& text_;
};

u64 payload_bytes(const InputHead& head) {
  switch (InputTag(head.tag)) {
    case InputTag::tensor:
      return u64(head.count) * (head.flags & kInputNoStrides ? 1 : 2) * (head.flags & kInputWide ? 8 : 4);
    case InputTag::integer:
    case InputTag::floating: return 8;
    case InputTag::complex: return 16;
    case InputTag::integer_list:
    case InputTag::floating_list: return 8 * u64(head.count);
    case InputTag::string:
    case InputTag::boolean_list: return head.count;
    default: return 0;
  }
}

void Renderer::numbers(const InputHead& head, const char* payload) {
  bool wide = head.tag == u8(InputTag::integer_list) || (head.flags & kInputWide);
  u64 n = head.tag == u8(InputTag::tensor) ? 2 * u64(head.count) : head.count;
  for (u64 i = 0; i < n; i++) {
    long long number = wide ? load<i64>(payload, long(8 * i)) : i64(load<u32>(payload, long(4 * i)));
    text_.add("%s%lld", i == 0 ? "" : i == head.count ? "|" : ",", number);
  }
}

bool Renderer::value() {
  if (end_ - at_ < long(sizeof(InputHead))) return false;
  InputHead head = load<InputHead>(at_, 0);
  const char* payload = at_ + sizeof head;
  u64 bytes = (payload_bytes(head) + 7) & ~u64(7);
  if (bytes > u64(end_ - payload)) return false;
  at_ = payload + bytes;
  switch (InputTag(head.tag)) {
    case InputTag::none: text_.add("-"); break;
    case InputTag::tensor:
      text_.add("t%u(", head.dtype);
      numbers(head, payload);
      text_.add(")");
      break;
    case InputTag::undefined: text_.add("undefined"); break;
    case InputTag::integer: text_.add("%lld", static_cast<long long>(load<i64>(payload, 0))); break;
    case InputTag::floating: text_.add("%g", load<double>(payload, 0)); break;
    case InputTag::boolean: text_.add(head.count ? "true" : "false"); break;
    case InputTag::complex: text_.add("%g%+gi", load<double>(payload, 0), load<double>(payload, 8)); break;
    case InputTag::string: text_.add("'%.*s'", int(head.count), payload); break;
    case InputTag::other_list: text_.add("list%u", head.count); break;
    case InputTag::tensor_list:
      text_.add("{");
      for (u32 i = 0; i < head.count; i++)
        if (!value()) return false;
      text_.add("}");
      break;
    case InputTag::integer_list:
      text_.add("[");
      numbers(head, payload);
      text_.add("]");
      break;
    default: text_.add("?"); break;
  }
  return true;
}

// Whether `text` starts with `expected`. A ? in `text` stands for a whole value, which ends at a space.
bool agrees(const char* text, const char* expected) {
  while (*expected) {
    if (*text == '?') {
      text++;
      while (*expected && *expected != ' ') expected++;
    } else if (*text++ != *expected++) {
      return false;
    }
  }
  return true;
}

struct Calibration {
  TorchLayout candidate[kCandidates];
  bool possible[kCandidates] = {};
  u32 proven[kCandidates] = {};  // ValueKinds that occurred and decoded correctly, as bits
  int step = 0;
  int by_schema = 0;  // steps whose operator was named by its schema
  u64 handle = 0;
  char seen[100] = {};  // the first thing that decoded wrongly
};
Calibration g_calibration;  // one calibration at a time; too large for a thread's stack

struct Trial {
  const TorchLayout& layout;
  const void* record_function;
  Text text = {};
  u32 kinds = 0;  // ValueKinds among the inputs
  bool whole = false;
};

// Whether this is an ordinary CPU tensor: dense, with default sizes and strides that are not symbolic.
bool is_plain(const ValueLayout& v, const char* impl) {
  constexpr u8 policy_bits = 0x0c;
  return (load<u64>(impl, v.keys) & (v.plain_keys | v.nested_keys | v.strideless_keys)) == v.plain_keys &&
         (v.flags < 0 || !(load<u8>(impl, v.flags) & (policy_bits | kSymbolicFlag)));
}

void try_layout(void* argument) {
  Trial& trial = *static_cast<Trial*>(argument);
  alignas(8) char buffer[1024];
  EncodedInputs encoded = encode_inputs(trial.layout, trial.record_function, buffer, sizeof buffer);
  if (trial.layout.num_inputs && trial.layout.num_inputs(trial.record_function) != encoded.total) return;
  Renderer renderer(buffer, encoded.bytes, trial.text);
  const char* values = load<const char*>(trial.record_function, trial.layout.inputs);
  for (int i = 0; i < encoded.count; i++) {
    u32 tag = load<u32>(values, 16 * i + 8);
    u8 kind = tag < kValueTags ? trial.layout.values.kind[tag] : 0;
    trial.kinds |= 1u << kind;
    if (kind == u8(ValueKind::tensor) && !is_plain(trial.layout.values, load<const char*>(values, 16 * i))) {
      trial.text.add("not a plain tensor");
      return;
    }
    if (!renderer.value()) return;
    trial.text.add(" ");
  }
  trial.whole = encoded.count == encoded.total && encoded.total > 0;
}

struct SchemaTrial {
  const void* record_function;
  bool found = false;
};

// A schema starts with a std::string, its name, which starts with the address of its text.
void try_schema(void* argument) {
  SchemaTrial& trial = *static_cast<SchemaTrial*>(argument);
  const TorchLayout& l = g_calibration.candidate[0];
  if (l.named < 0 || load<u8>(trial.record_function, l.named) != kNamedBySchema) return;
  const void* schema = load<const void*>(trial.record_function, l.name_at);
  trial.found = load<const char*>(schema, 0) == l.name(trial.record_function);
}

ObserverContext observe(const void* record_function) {
  Calibration& c = g_calibration;
  if (c.step >= kSteps) return {};
  const Expected& expected = kExpected[c.step];
  const char* name = c.candidate[0].name(record_function);
  if (!name || strcmp(name, expected.op) != 0) return {};
  c.step++;
  SchemaTrial schema{record_function};
  if (run_guarded(try_schema, &schema)) c.by_schema += schema.found;
  for (int i = 0; i < kCandidates; i++) {
    if (!c.possible[i]) continue;
    Trial trial{c.candidate[i], record_function};
    if (run_guarded(try_layout, &trial) && trial.whole && agrees(trial.text.text, expected.inputs)) {
      c.proven[i] |= trial.kinds;
      continue;
    }
    c.possible[i] = false;
    if (!c.seen[0]) snprintf(c.seen, sizeof c.seen, "%s reads as %.60s", name, trial.text.text);
  }
  return {};
}

}  // namespace

bool calibration_begin(TorchLayout& layout) {
  if (!layout.ops || layout.inputs < 0) return false;
  Calibration& c = g_calibration;
  c.step = c.by_schema = 0;
  c.seen[0] = 0;
  ElfObject torch = ElfObject::mapped("libtorch_cpu.so");
  for (int i = 0; i < kCandidates; i++) {
    c.candidate[i] = layout;
    c.possible[i] = layout.inputs_ok ? i == 0 : candidate_values(i, torch, c.candidate[i].values);
    c.candidate[i].inputs_ok = true;
    c.proven[i] = 0;
  }
  RecordFunctionCallback callback;
  callback.start = observe;
  callback.scopes[u8(Scope::function)] = 1;
  callback.needs_inputs = 1;
  c.handle = layout.add_thread_local_callback(callback);
  return true;
}

bool calibration_end(TorchLayout& layout) {
  Calibration& c = g_calibration;
  if (!c.handle) return layout.inputs_ok;
  layout.remove_callback(c.handle);
  c.handle = 0;
  if (c.step == 0) return layout.inputs_ok;
  layout.name_ok = c.by_schema == kSteps;
  char why[sizeof layout.inputs_why];
  int left = 0, which = -1;
  for (int i = 0; i < kCandidates; i++)
    if (c.possible[i]) left++, which = i;
  if (left == 1 && c.step == kSteps) {
    if (!layout.inputs_ok) layout.inputs_why[0] = 0;  // the search had failed, but what it did not find is not needed
    layout.values = c.candidate[which].values;
    for (u8& kind : layout.values.kind)
      if (!(c.proven[which] >> kind & 1)) kind = u8(ValueKind::other);
    layout.inputs_ok = layout.inputs_checked = true;
    return true;
  }
  layout.inputs_ok = false;
  if (left == 1)
    snprintf(why, sizeof why, "inputs: %s was not seen", kExpected[c.step].op);
  else
    snprintf(why, sizeof why, "inputs: %s", left ? "more than one layout is possible" : c.seen);
  set_why(layout.inputs_why, why);
  return false;
}

}  // namespace tprof
