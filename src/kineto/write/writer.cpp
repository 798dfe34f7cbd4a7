#include "kineto/write/writer.h"

#include <algorithm>

#include "json/json.h"
#include "kineto/collectives.h"
#include "kineto/inputs.h"
#include "kineto/ledger.h"
#include "kineto/names.h"
#include "kineto/nvtx.h"
#include "kineto/write/arguments.h"
#include "kineto/write/gpu.h"
#include "kineto/write/lines.h"
#include "kineto/write/loaders.h"
#include "kineto/write/python.h"
#include "kineto/write/stacks.h"
#include "model/communication.h"

namespace tprof::kineto {
namespace {

// 32 hex digits that identify the span, the same in every conversion (FNV-1a, two seeds).
std::string trace_id(const std::string& identity) {
  std::string out;
  for (u64 seed : {14695981039346656037u, 1099511628211u}) {
    u64 hash = seed;
    for (unsigned char c : identity) hash = (hash ^ c) * 1099511628211u;
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[hash >> shift & 15];
  }
  return out;
}

class TraceWriter {
 public:
  TraceWriter(const Model& model, const std::string& path, bool gzip)
      : model_(model),
        path_(path),
        out_(path, gzip),
        lines_(model, out_),
        stacks_(model, out_),
        collectives_(model),
        gpu_(model, lines_, stacks_, collectives_, out_),
        python_(model, lines_, out_) {
    for (const Step& step : model.steps)
      if (step.cut != StepCut::none) cuts_[step.event] = step.cut;
  }

  u64 write() {
    put_header();
    put_metadata();
    put_events();
    gpu_.put_events();
    gpu_.put_counters();
    put_loaders(model_, lines_, out_);
    put_tail();
    out_.finish();
    return out_.bytes();
  }

 private:
  std::string info(const std::string& key) const {
    auto it = model_.info.find(key);
    return it == model_.info.end() ? "" : it->second;
  }

  // torch writes these keys only for options that are on; here they are also off if that part does not work.
  bool flag(const std::string& option) const {
    std::string value = info("option." + option);
    if (value.empty() || value == "0") return false;
    auto it = model_.capabilities.find(option);
    return it == model_.capabilities.end() || it->second.on;
  }

  Json distributed() const;
  void put_header();
  void put_metadata();
  void put_events();
  void put_event(const Event& event, u32 index);
  void put_stretch(u32 event);
  void put_memory(const MemoryEvent& event, size_t index);
  void put_mark(const NvtxMark& mark, size_t index);
  void put_flow(const Event& event, u32 id, bool start);
  void put_own_event(const std::string& kind, const char* name, const Json& pid, const Json& tid, i64 ts);
  void put_tail();
  const Model& model_;
  std::string path_;
  OutputFile out_;
  Lines lines_;
  StackText stacks_;
  CollectiveArguments collectives_;
  GpuWriter gpu_;
  PythonWriter python_;
  std::unordered_map<u32, StepCut> cuts_;  // of steps that were cut, by event
  InputText inputs_;
};

// The rank precedes everything else that may contain a "rank", because HTA uses the first one of the file.
Json TraceWriter::distributed() const {
  Json known = bounded_json(info("distributed"));
  Json out;
  if (known.is_object() && known.contains("backend")) out["backend"] = known["backend"];
  if (model_.rank < 0) return out;
  out["rank"] = model_.rank;
  if (model_.world_size >= 0) out["world_size"] = model_.world_size;
  if (model_.local_rank >= 0) out["local_rank"] = model_.local_rank;
  out["node"] = model_.host;
  if (!model_.recorded_ranks.empty()) out["recorded_ranks"] = model_.recorded_ranks;
  if (known.is_object())
    for (const auto& [key, value] : known.items())
      if (!out.contains(key)) out[key] = value;
  return out;
}

void TraceWriter::put_header() {
  auto line = [this](const char* key, const Json& value) {
    out_.put("  \"");
    out_.put(key);
    out_.put("\": ");
    out_.put(json_ascii_spaced(value));
    out_.put(",\n");
  };
  out_.put("{\n");
  line(kSchemaVersion, 1);
  line(kDeviceProperties, device_properties(model_));
  line(kTraceId, trace_id(model_.identity));
  Json job = distributed();
  if (!job.empty()) line(kDistributedInfo, job);
  for (const char* option : {"record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops"})
    if (flag(option)) line(option, 1);
  line(kHostName, model_.host);
  line(kDisplayTimeUnit, "ms");
  line(kBaseTime, model_.base_time_ns);
  stacks_.put_table();
  stacks_.put_samples();
  out_.put("  \"traceEvents\": [");
}

void TraceWriter::put_metadata() {
  i64 ts = model_.begin_ns;
  std::string pid = std::to_string(model_.pid);
  lines_.put_meta("process_name", pid, 0, {{"name", model_.process_name}}, ts);
  lines_.put_meta("process_labels", pid, 0, {{"labels", "CPU"}}, ts);
  lines_.put_meta("process_sort_index", pid, 0, {{"sort_index", model_.pid}}, ts);
  for (const TraceThread& thread : model_.threads) {
    std::string name = "thread " + std::to_string(thread.owner) + " (" + thread.name + ")";
    lines_.put_meta("thread_name", pid, thread.tid, {{"name", name}}, ts);
    lines_.put_meta("thread_sort_index", pid, thread.tid, {{"sort_index", thread.owner}}, ts);
  }
  gpu_.put_metadata();
}

void TraceWriter::put_events() {
  std::vector<u32> flow_start(model_.pairs.empty() ? 0 : model_.events.size());
  std::vector<u32> flow_end(flow_start.size());
  for (u32 i = 0; i < model_.pairs.size(); i++) {
    flow_start[model_.pairs[i].forward] = i + 1;
    flow_end[model_.pairs[i].backward] = i + 1;
  }
  size_t memory = 0, mark = 0;
  auto put_memory_until = [&](i64 ns) {
    for (; memory < model_.memory.size() && model_.memory[memory].ns < ns; memory++)
      put_memory(model_.memory[memory], memory);
  };
  auto put_instants_until = [&](i64 ns) {
    for (; mark < model_.marks.size() && model_.marks[mark].ns < ns; mark++) {
      put_memory_until(model_.marks[mark].ns);
      put_mark(model_.marks[mark], mark);
    }
    put_memory_until(ns);
  };
  for (u32 i = 0; i < model_.events.size(); i++) {
    const Event& event = model_.events[i];
    put_instants_until(event.begin_ns);
    put_event(event, i);
    if (flow_start.empty()) continue;
    if (flow_start[i]) put_flow(event, flow_start[i], true);
    if (flow_end[i]) put_flow(event, flow_end[i], false);
  }
  put_instants_until(INT64_MAX);
}

void TraceWriter::put_mark(const NvtxMark& mark, size_t index) {
  lines_.begin();
  out_.put(R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", )");
  out_.put(lines_.name(mark.name));
  out_.put(lines_.row(mark.thread));
  out_.put("\"ts\": ");
  out_.put_us(mark.ns);
  out_.put(", \"args\": {");
  put_arguments(out_, nvtx_arguments(model_, mark.detail));
  out_.put("\"Ev Idx\": ");
  out_.put_number(model_.events.size() + model_.memory.size() + index);
  out_.put("}}");
}

void TraceWriter::put_memory(const MemoryEvent& event, size_t index) {
  bool failed = event.flags & kMemoryOutOfMemory;
  lines_.begin();
  out_.put(R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": ")");
  out_.put(failed ? kOutOfMemory : kMemory);
  out_.put("\", ");
  out_.put(lines_.row(event.thread));
  out_.put("\"ts\": ");
  out_.put_us(event.ns);
  out_.put(", \"args\": {");
  stacks_.put_call_stack(event.stack);
  out_.put("\"Total Reserved\": ");
  out_.put_number(event.total_reserved);
  out_.put(", \"Total Allocated\": ");
  out_.put_number(event.total_allocated);
  out_.put(", \"Bytes\": ");
  out_.put_number(event.bytes);
  if (!failed) {
    out_.put(", \"Addr\": ");
    out_.put_number(event.address);
  }
  out_.put(", \"Device Id\": ");
  out_.put_number(static_cast<int>(event.device_index));
  out_.put(", \"Device Type\": ");
  out_.put_number(static_cast<int>(event.device_type));
  if (event.flags & kMemoryShared) out_.put(R"(, "tprof": "shared memory, not in the totals")");
  out_.put(", \"Ev Idx\": ");
  out_.put_number(model_.events.size() + index);
  out_.put("}}");
}

void TraceWriter::put_event(const Event& event, u32 index) {
  if (event.flags & kEventPython) return python_.put(event, index);
  lines_.begin();
  bool user = event.scope == u8(Scope::user);
  out_.put(user ? R"({"ph": "X", "cat": "user_annotation", )" : R"({"ph": "X", "cat": "cpu_op", )");
  out_.put(lines_.name(event.name));
  out_.put(lines_.row(event.thread));
  stacks_.put_frame(event.stack);
  out_.put("\"ts\": ");
  out_.put_us(event.begin_ns);
  out_.put(", \"dur\": ");
  out_.put_us(event.dur_ns);
  out_.put(", \"args\": {\"External id\": ");
  out_.put_number(lines_.external_id(index));
  if (event.sequence >= 0) {
    out_.put(", \"Sequence number\": ");
    out_.put_number(event.sequence);
    out_.put(", \"Fwd thread id\": ");
    out_.put_number(event.forward_thread);
  }
  out_.put(", \"Record function id\": 0, ");
  put_arguments(out_, collectives_.of_event(index));
  if (event.flags & kEventStretch) put_stretch(index);
  if (auto cut = cuts_.find(index); cut != cuts_.end())
    out_.put("\"" + std::string(kCut) + "\": " + json_ascii(kStepCutTexts[u32(cut->second)]) + ", ");
  if (event.flags & kEventNvtx) put_arguments(out_, nvtx_arguments(model_, *event.nvtx));
  std::string_view inputs = inputs_.of(event);
  // The plugin multiplies the dims of collectives, and a list of tensors there makes it drop the whole run.
  bool unsafe =
      user && is_collective_label(model_.names[event.name]) && inputs.find("\"TensorList\"") != std::string_view::npos;
  if (!inputs.empty() && !unsafe) {
    out_.put(inputs);
    out_.put(", ");
  }
  stacks_.put_call_stack(event.stack);
  if (event.flags & kEventClipped) out_.put(R"("tprof": "clipped at window end", )");
  if (event.flags & kEventUnfinished) out_.put(R"("tprof": "unfinished", )");
  out_.put("\"Ev Idx\": ");
  out_.put_number(index);
  out_.put("}}");
}

void TraceWriter::put_stretch(u32 event) {
  auto stretch = std::find_if(model_.stretches.begin(), model_.stretches.end(),
                              [event](const Stretch& s) { return s.event == event; });
  auto put = [this](const char* key, const std::string& json) {
    out_.put("\"");
    out_.put(key);
    out_.put("\": " + json + ", ");
  };
  put(kStretch, json_ascii(stretch->inside ? kStretchInside : kStretchBetween));
  if (stretch->batches) put(kBatches, std::to_string(stretch->batches));
  if (stretch->calls) put(kCalls, std::to_string(stretch->calls));
  if (stretch->left_out) put(kLeftOut, std::to_string(stretch->left_out));
  if (stretch->continued) put(kContinued, "1");
}

void TraceWriter::put_flow(const Event& event, u32 id, bool start) {
  lines_.begin();
  out_.put(start ? R"({"ph": "s", "id": )" : R"({"ph": "f", "id": )");
  out_.put_number(id);
  out_.put(", ");
  out_.put(lines_.row(event.thread));
  out_.put("\"ts\": ");
  out_.put_us(event.begin_ns);
  out_.put(start ? R"(, "cat": "fwdbwd", "name": "fwdbwd"})" : R"(, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"})");
}

// Writes the start of an event of the profiler itself, up to its time.
void TraceWriter::put_own_event(const std::string& kind, const char* name, const Json& pid, const Json& tid, i64 ts) {
  lines_.begin();
  out_.put("{" + kind + ", \"name\": \"" + name + "\", \"pid\": " + json_ascii(pid) + ", \"tid\": " + json_ascii(tid) +
           ", \"ts\": ");
  out_.put_us(ts);
}

void TraceWriter::put_tail() {
  i64 length = model_.end_ns - model_.begin_ns;
  const std::string instant = R"("ph": "i", "s": "g")";
  // libkineto has the text "Spans" as pid of this row, but speedscope rejects a trace with a complete event whose pid
  // is no number.
  put_own_event(std::string(R"("ph": "X", "cat": ")") + kTraceSpan + "\"", kProfilerSpan, kSpansRow, 0,
                model_.begin_ns);
  out_.put(", \"dur\": ");
  out_.put_us(length);
  out_.put(R"(, "args": {"Op count": 0}})");
  const std::string row = std::to_string(kSpansRow);
  lines_.put_meta("process_name", row, 0, {{"name", kSpans}}, model_.begin_ns);
  lines_.put_meta("process_sort_index", row, 0, {{"sort_index", kSpansRow}}, model_.begin_ns);
  lines_.put_meta("thread_name", row, 0, {{"name", kProfiler}}, model_.begin_ns);
  // HTA's overlay of kernel sequences adds its table of names to the event in "Spans" with the name of the profiler.
  put_own_event(instant, kIterationStart, kSpans, std::string("Trace ") + kProfiler, model_.begin_ns);
  out_.put("}");
  // Beyond that length the plugin would cut this event and rewrite the whole file before reading it.
  if (length / 1000 < kLongestWindowUs) {
    put_own_event(instant, kWindowEnd, "", "", model_.end_ns);
    out_.put("}");
  }
  out_.put("\n  ],\n");
  out_.put("  \"traceName\": ");
  out_.put(json_closing(path_));
  out_.put(",\n  \"tprof\": ");
  out_.put(json_closing(ledger_of(model_)));
  out_.put("\n}\n");
}

}  // namespace

u64 write_trace(const Model& model, const std::string& path, bool gzip) {
  return TraceWriter(model, path, gzip).write();
}

}  // namespace tprof::kineto
