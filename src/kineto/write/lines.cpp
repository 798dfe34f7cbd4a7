#include "kineto/write/lines.h"

#include <algorithm>

#include "kineto/names.h"

namespace tprof::kineto {
namespace {

// Readers take any name that starts with ProfilerStep for a step and fail if no number follows.
bool is_false_step(const std::string& name) {
  size_t prefix = sizeof kStepPrefix - 1;
  if (!name.starts_with(kStep)) return false;
  return !name.starts_with(kStepPrefix) || name.size() == prefix || name.size() > prefix + 18 ||
         !std::all_of(name.begin() + prefix, name.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

u64 first_external_id(const Model& model) {
  u32 lowest = kNone, highest = 0;
  auto look = [&](u32 correlation) {
    if (!correlation) return;
    lowest = std::min(lowest, correlation);
    highest = std::max(highest, correlation);
  };
  for (const CallEvent& call : model.calls) look(call.correlation);
  for (const GpuEvent& event : model.gpu) look(event.correlation);
  return lowest > model.events.size() ? 1 : u64(highest) + 1;
}

}  // namespace

std::string json_ascii_spaced(const Json& value) {
  if (value.is_array()) {
    std::string out = "[";
    for (const Json& element : value) out += (out.size() > 1 ? ", " : "") + json_ascii_spaced(element);
    return out + "]";
  }
  if (!value.is_object()) return json_ascii(value);
  std::string out = "{";
  for (const auto& [key, element] : value.items())
    out += (out.size() > 1 ? ", " : "") + json_ascii(key) + ": " + json_ascii_spaced(element);
  return out + "}";
}

std::string json_closing(const Json& value) {
  std::string out;
  bool in_text = false, escaped = false;
  for (char c : json_ascii_spaced(value)) {
    in_text ^= c == '"' && !escaped;
    escaped = c == '\\' && !escaped;
    c == ']' && in_text ? out.append("\\u005d") : out.append(1, c);
  }
  return out;
}

Lines::Lines(const Model& model, OutputFile& out)
    : model_(model), out_(out), first_external_id_(first_external_id(model)), names_(model.names.size()) {
  rows_.reserve(model.threads.size());
  for (const TraceThread& thread : model.threads)
    rows_.push_back("\"pid\": " + std::to_string(model.pid) + ", \"tid\": " + std::to_string(thread.tid) + ", ");
}

void Lines::put_meta(const char* name, const std::string& pid, i64 tid, const Json& args, i64 ts) {
  begin();
  out_.put("{\"ph\": \"M\", \"name\": \"");
  out_.put(name);
  out_.put("\", \"ts\": ");
  out_.put_us(ts);
  out_.put(", \"pid\": ");
  out_.put(pid);
  out_.put(", \"tid\": ");
  out_.put_number(tid);
  out_.put(", \"args\": ");
  out_.put(json_ascii_spaced(args));
  out_.put("}");
}

const std::string& Lines::name(u32 index) {
  std::string& name = names_[index];
  if (name.empty()) {
    const std::string& text = model_.names[index];
    name = "\"name\": " + json_ascii(is_false_step(text) ? "range " + text : text) + ", ";
  }
  return name;
}

}  // namespace tprof::kineto
