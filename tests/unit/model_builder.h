// Models made in code, for tests of analyses: times in microseconds, events in any order, finished by model().
#pragma once
#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "model/collectives.h"
#include "model/trace.h"

namespace tprof {

class ModelBuilder {
 public:
  struct Shape {
    std::vector<u32> sizes;
    u8 dtype = 6;  // c10::ScalarType: 6 float, 5 half, 15 bfloat16
    InputTag tag = InputTag::tensor;
    bool value = false;  // of a boolean
  };

  ModelBuilder() {
    model_.stacks.push_back({});
    name("");
    thread(1);
  }

  // Threads are named by number; 1 is the main thread.
  u32 thread(u32 tid) {
    for (u32 i = 0; i < model_.threads.size(); i++)
      if (model_.threads[i].tid == tid) return i;
    model_.threads.push_back({tid, tid, 0, ""});
    return u32(model_.threads.size()) - 1;
  }
  u32 name(const std::string& text) {
    auto [at, added] = names_.try_emplace(text, u32(model_.names.size()));
    if (added) model_.names.push_back(text);
    return at->second;
  }

  void step(i64 begin_us, i64 end_us, u32 tid = 1) {
    u32 event = range("ProfilerStep#" + std::to_string(model_.steps.size()), begin_us, end_us, Scope::user, tid);
    model_.events[event].flags |= kEventStep;
    model_.steps.push_back({i64(model_.steps.size()), StepBy::api, begin_us * 1000, end_us * 1000, event});
  }
  // Between two steps, or inside of the one that holds it.
  void stretch(i64 begin_us, i64 end_us, u32 batches = 1, StretchKind kind = StretchKind::evaluation) {
    auto number = i64(model_.stretches.size());
    u32 event = range(prefix_of(kind) + std::to_string(number), begin_us, end_us, Scope::user);
    model_.events[event].flags |= kEventStep | kEventStretch;
    Stretch s{kind, number, begin_us * 1000, end_us * 1000, batches, batches};
    s.event = event;
    for (Step& step : model_.steps)
      if (step.begin_ns <= s.begin_ns && s.end_ns <= step.end_ns) step.evaluates = s.inside = true;
    model_.stretches.push_back(s);
  }
  u32 range(const std::string& text, i64 begin_us, i64 end_us, Scope scope, u32 tid = 1) {
    Event event;
    event.begin_ns = begin_us * 1000;
    event.dur_ns = (end_us - begin_us) * 1000;
    event.name = name(text);
    event.thread = thread(tid);
    event.scope = static_cast<u8>(scope);
    model_.events.push_back(event);
    return u32(model_.events.size()) - 1;
  }
  u32 op(const std::string& text, i64 begin_us, i64 end_us, std::vector<Shape> shapes = {}, u32 tid = 1) {
    u32 event = range(text, begin_us, end_us, Scope::function, tid);
    if (!shapes.empty()) inputs(event, shapes);
    return event;
  }
  u32 label(const std::string& text, i64 begin_us, i64 end_us, u32 tid = 1) {
    return range(text, begin_us, end_us, Scope::user, tid);
  }

  u32 call(const std::string& text, i64 begin_us, i64 end_us, u32 tid = 1) {
    CallEvent call;
    call.begin_ns = call.at_ns = begin_us * 1000;
    call.dur_ns = (end_us - begin_us) * 1000;
    call.name = name(text);
    call.thread = thread(tid);
    call.correlation = u32(model_.calls.size()) + 1;
    call.seen = kSeenByCupti;
    model_.calls.push_back(call);
    return u32(model_.calls.size()) - 1;
  }

  u32 kernel(const std::string& text, i64 begin_us, i64 end_us, u32 call = kNone, u32 stream = 7, u32 device = 0) {
    KernelRecord record{};
    record.head.kind = static_cast<u16>(Kind::kernel);
    return work(record, name(text), begin_us, end_us, call, stream, device);
  }
  // `kind` and `host` as CUPTI numbers them: 1 to the device, 2 to the host, 8 within; 1 pageable, 2 pinned.
  u32 copy(u32 kind, u32 host, u64 bytes, i64 begin_us, i64 end_us, u32 call = kNone, u32 stream = 7, u32 device = 0) {
    CopyRecord record{};
    record.head.kind = static_cast<u16>(Kind::copy);
    record.head.id = kind | (kind == 1 ? host : 3) << 8 | (kind == 2 ? host : 3) << 16;
    record.bytes = bytes;
    return work(record, 0, begin_us, end_us, call, stream, device);
  }
  // CUPTI's own work.
  void overhead(i64 begin_us, i64 end_us) {
    OverheadRecord record{};
    record.head.kind = static_cast<u16>(Kind::overhead);
    work(record, 0, begin_us, end_us, kNone, kNone, kNone);
  }
  // A launch and its kernel, launched inside the innermost operator there.
  u32 launch(const std::string& kernel_name, i64 call_us, i64 begin_us, i64 end_us, u32 tid = 1, u32 stream = 7) {
    return kernel(kernel_name, begin_us, end_us, call("cudaLaunchKernel", call_us, call_us + 5, tid), stream);
  }

  void memory(i64 us, u64 address, i64 bytes, u64 allocated, u64 reserved = 0, u8 type = kCudaDeviceType, u32 tid = 1) {
    MemoryEvent event;
    event.ns = us * 1000;
    event.address = address;
    event.bytes = bytes;
    event.total_allocated = allocated;
    event.total_reserved = reserved;
    event.thread = thread(tid);
    event.device_type = type;
    event.device_index = type == kCudaDeviceType ? 0 : -1;
    model_.memory.push_back(event);
  }
  DeviceRecord& device(u32 number, u32 major, u32 minor, u64 bytes, const std::string& text = "Some GPU") {
    DeviceRecord& d = model_.devices[number];
    d.total_memory = bytes;
    d.compute_major = major;
    d.compute_minor = minor;
    d.multiprocessors = 100;
    strncpy(d.name, text.c_str(), sizeof d.name - 1);
    return d;
  }
  u32 stack(const std::string& innermost) {
    model_.stacks.push_back({0, name(innermost)});
    return u32(model_.stacks.size()) - 1;
  }
  Model& raw() { return model_; }

  // Sorts, sets parents, ties calls to operators and work to both.
  Model model();

 private:
  template <class Record>
  u32 work(const Record& record, u32 name, i64 begin_us, i64 end_us, u32 call, u32 stream, u32 device) {
    GpuEvent event;
    event.begin_ns = begin_us * 1000;
    event.dur_ns = (end_us - begin_us) * 1000;
    event.record = reinterpret_cast<const RecordHead*>(model_.arena.copy(&record, sizeof record));
    event.name = name;
    event.call = call;
    event.device = device;
    event.stream = stream;
    if (call != kNone) {
      event.correlation = model_.calls[call].correlation;
      model_.calls[call].activities++;
    }
    model_.gpu.push_back(event);
    return u32(model_.gpu.size()) - 1;
  }

  void inputs(u32 event, const std::vector<Shape>& shapes) {
    std::string bytes;
    for (const Shape& shape : shapes) {
      u32 count = shape.tag == InputTag::boolean ? shape.value : u32(shape.sizes.size());
      InputHead head{static_cast<u8>(shape.tag), shape.dtype, kInputNoStrides, 0, count};
      bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
      bytes.append(reinterpret_cast<const char*>(shape.sizes.data()), shape.sizes.size() * 4);
      bytes.resize((bytes.size() + 7) / 8 * 8);
    }
    Event& e = model_.events[event];
    e.inputs = model_.arena.copy(bytes.data(), bytes.size());
    e.inputs_bytes = u32(bytes.size());
    e.inputs_count = u16(shapes.size());
    e.flags |= kEventHasInputs;
  }

  Model model_;
  std::unordered_map<std::string, u32> names_;
};

namespace builder {
// Stable order of `list` by begin, longer first; returns where each element went.
template <class List>
std::vector<u32> sort(List& list) {
  std::vector<u32> order(list.size()), now(list.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    return list[a].begin_ns != list[b].begin_ns ? list[a].begin_ns < list[b].begin_ns : list[a].dur_ns > list[b].dur_ns;
  });
  List sorted;
  for (u32 i = 0; i < order.size(); i++) {
    now[order[i]] = i;
    sorted.push_back(list[order[i]]);
  }
  list = std::move(sorted);
  return now;
}
}  // namespace builder

inline Model ModelBuilder::model() {
  std::vector<u32> event_now = builder::sort(model_.events), call_now = builder::sort(model_.calls);
  builder::sort(model_.gpu);
  for (Step& step : model_.steps) step.event = event_now[step.event];
  for (Stretch& s : model_.stretches) s.event = event_now[s.event];
  std::vector<std::vector<u32>> open(model_.threads.size());
  for (u32 i = 0; i < model_.events.size(); i++) {
    Event& e = model_.events[i];
    std::vector<u32>& stack = open[e.thread];
    while (!stack.empty() && model_.events[stack.back()].end_ns() <= e.begin_ns) stack.pop_back();
    e.parent = stack.empty() ? -1 : i32(stack.back());
    e.depth = u16(stack.size());
    stack.push_back(i);
  }
  for (CallEvent& call : model_.calls)
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      bool op = static_cast<Scope>(e.scope) != Scope::user;
      if (op && e.thread == call.thread && e.begin_ns <= call.begin_ns && e.end_ns() >= call.end_ns()) call.op = i32(i);
    }
  for (GpuEvent& work : model_.gpu)
    if (work.call != kNone) {
      work.call = call_now[work.call];
      work.op = model_.calls[work.call].op;
    }
  std::stable_sort(model_.memory.begin(), model_.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.ns < b.ns; });
  if (!model_.events.empty()) model_.begin_ns = model_.events.front().begin_ns;
  for (const Event& e : model_.events) model_.end_ns = std::max(model_.end_ns, e.end_ns());
  find_collectives(model_);
  return std::move(model_);
}

}  // namespace tprof
