#include "kineto/write/stacks.h"

#include "kineto/names.h"
#include "kineto/write/lines.h"
#include "model/open_operators.h"

namespace tprof::kineto {
namespace {

const Step* step_at(const Model& model, i64 ns) {
  for (const Step& step : model.steps)
    if (step.begin_ns <= ns && ns < step.end_ns) return &step;
  return nullptr;
}

}  // namespace

void StackText::put_frame(u32 stack) {
  if (!stack) return;
  out_.put("\"sf\": ");
  out_.put_number(stack);
  out_.put(", ");
}

void StackText::put_call_stack(u32 stack) {
  if (!stack) return;
  out_.put("\"");
  out_.put(kCallStack);
  out_.put("\": \"");
  for (u32 frame = stack; frame; frame = model_.stacks[frame].parent) {
    if (frame != stack) out_.put(";");
    out_.put(text(model_.stacks[frame].text));
  }
  out_.put("\", ");
}

void StackText::put_table() {
  if (model_.stacks.size() < 2) return;
  out_.put("  \"stackFrames\": {");
  for (u32 frame = 1; frame < model_.stacks.size(); frame++) {
    out_.put(frame == 1 ? "\n\"" : ",\n\"");
    out_.put_number(frame);
    out_.put(model_.stacks[frame].native ? "\": {\"category\": \"native\", \"name\": \""
                                         : "\": {\"category\": \"python\", \"name\": \"");
    out_.put(text(model_.stacks[frame].text));
    out_.put("\"");
    if (u32 parent = model_.stacks[frame].parent) {
      out_.put(", \"parent\": ");
      out_.put_number(parent);
    }
    out_.put("}");
  }
  out_.put("\n  },\n");
}

void StackText::put_samples() {
  if (model_.samples.empty()) return;
  out_.put("  \"samples\": [");
  const char* gap = "\n";
  OpenOperators open(model_);
  for (const StackSample& s : model_.samples) {
    if (!s.stack) continue;
    out_.put(gap);
    gap = ",\n";
    out_.put("{\"name\": \"python\", \"cpu\": 0, \"tid\": ");
    out_.put_number(model_.threads[s.thread].tid);
    out_.put(", \"ts\": ");
    out_.put_us(s.ns);
    out_.put(", \"sf\": ");
    out_.put_number(s.stack);
    out_.put(", \"weight\": 1");
    if (const Step* step = step_at(model_, s.ns)) {
      out_.put(", \"step\": ");
      out_.put_number(step->number);
    }
    if (u32 op = open.at(s.thread, s.ns); op != kNone) {
      out_.put(", \"operator\": \"");
      out_.put(text(model_.events[op].name));
      out_.put("\"");
    }
    if (s.flags & kSampleOnCpu) out_.put(", \"on_cpu\": 1");
    if (s.flags & kSampleGil) out_.put(", \"gil\": 1");
    if (s.flags & kSampleChanged) out_.put(", \"changed\": 1");
    if (s.flags & kSampleNoNative) out_.put(", \"no_native\": 1");
    if (s.flags & kSampleNotStopped) out_.put(", \"not_stopped\": 1");
    out_.put("}");
  }
  out_.put("\n  ],\n");
}

const std::string& StackText::text(u32 name) {
  std::string& text = texts_[name];
  if (text.empty()) {
    std::string quoted = json_ascii(model_.names[name]);
    text = quoted.substr(1, quoted.size() - 2);
  }
  return text;
}

}  // namespace tprof::kineto
