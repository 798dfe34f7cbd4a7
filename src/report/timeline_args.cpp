#include "report/timeline_args.h"

#include <cmath>

#include "base/reals.h"
#include "kineto/names.h"
#include "kineto/nvtx.h"
#include "model/communication.h"
#include "model/gpu/names.h"
#include "model/python.h"
#include "report/varint.h"

namespace tprof {
namespace {

constexpr i64 kLargestExact = i64(1) << 50;  // of which differences are exact in a double, too

std::string signed_stream(u32 stream) { return stream == kNone ? "-1" : std::to_string(stream); }

template <class Size>
std::string size3(const Size& size) {
  return "[" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " + std::to_string(size[2]) + "]";
}

// Strides and values that were not recorded, or that no input has, are lists of nothing.
bool says_something(std::string_view key, std::string_view list) {
  return (key != kineto::kInputStrides && key != kineto::kConcreteInputs) ||
         list.find_first_not_of("[]\", ") != list.npos;
}

}  // namespace

TimelineArguments::TimelineArguments(const Model& model) : model_(model), collectives_(model) {
  for (u32 i = 0; i < model.stretches.size(); i++) stretches_[model.stretches[i].event] = i;
  for (const Step& step : model.steps)
    if (step.cut != StepCut::none) cuts_[step.event] = step.cut;
}

u32 TimelineArguments::add(const Slice& slice) {
  set_.clear();
  members_ = 0;
  if (slice.is_event())
    add_event(model_.events[slice.source], slice.source);
  else if (slice.is_call())
    add_call(model_.calls[slice.source]);
  else
    add_gpu(model_.gpu[slice.source], slice.source);
  if (!members_) return 0;
  auto [at, is_new] = sets_.try_emplace(set_, u32(in_order_.size()));
  if (is_new) in_order_.push_back(&at->first);
  return at->second + 1;
}

void TimelineArguments::add_event(const Event& event, u32 index) {
  if (event.flags & kEventPython) {
    add_python(event);
  } else {
    if (event.sequence >= 0) {
      number(Number::sequence, kineto::kSequenceNumber, event.sequence);
      text(kineto::kForwardThread, i64(event.forward_thread));
    }
    add_arguments(collectives_.of_event(index));
    if (event.flags & kEventStretch) add_stretch(index);
    if (auto cut = cuts_.find(index); cut != cuts_.end()) text(kineto::kCut, kStepCutTexts[u32(cut->second)]);
    if (event.flags & kEventNvtx) add_nvtx(*event.nvtx);
    add_inputs(event);
  }
  if (event.flags & kEventClipped) text(kineto::kOurMark, kineto::kClippedMark);
  if (event.flags & kEventUnfinished) text(kineto::kOurMark, kineto::kUnfinishedMark);
}

void TimelineArguments::add_inputs(const Event& event) {
  if (event.encoded_inputs().empty()) return;
  auto [at, is_new] = known_inputs_.try_emplace(event.encoded_inputs());
  if (is_new) {
    std::string before = std::move(set_);
    u32 members = members_;
    set_.clear();
    for (const auto& [key, value] : inputs_.lists_of(event))
      if (says_something(key, value)) text(key, value);
    at->second = {std::move(set_), members_ - members};
    set_ = std::move(before);
    members_ = members;
  }
  set_ += at->second.coded;
  members_ += at->second.number;
}

void TimelineArguments::add_nvtx(const NvtxDetail& detail) { add_arguments(kineto::nvtx_arguments(model_, detail)); }

void TimelineArguments::add_arguments(const std::vector<kineto::Argument>& arguments) {
  for (const kineto::Argument& argument : arguments) text(argument.key, argument.value);
}

void TimelineArguments::add_python(const Event& event) {
  const PythonDetail& detail = python_detail(event);
  if (detail.module == kNone) return;
  const ModuleInfo& module = model_.modules[detail.module];
  text(kineto::kPythonModuleId, i64(module.number));
  if (module.parameters == kUncounted) return;
  text(kineto::kParameters, std::to_string(module.parameters));
  text(kineto::kParameterBytes, std::to_string(module.parameter_bytes));
}

void TimelineArguments::add_stretch(u32 index) {
  const Stretch& stretch = model_.stretches[stretches_.at(index)];
  text(kineto::kStretch, stretch.inside ? kineto::kStretchInside : kineto::kStretchBetween);
  if (stretch.batches) text(kineto::kBatches, i64(stretch.batches));
  if (stretch.calls) text(kineto::kCalls, i64(stretch.calls));
  if (stretch.left_out) text(kineto::kLeftOut, i64(stretch.left_out));
  if (stretch.continued) text(kineto::kContinued, i64(1));
}

void TimelineArguments::add_call(const CallEvent& call) {
  if (call.cbid) text("cbid", i64(call.cbid));  // not all traces state it
  if (call.correlation) number(Number::correlation, kineto::kCorrelation, i64(call.correlation));
  if (call.bytes) number(Number::bytes, kineto::kCallSize, i64(call.bytes));
  if (call.result) text("result", i64(call.result));
  if (call.unfinished)
    text(kineto::kOurMark, model_.process_ended_inside ? kineto::kUnfinishedMark : kineto::kClippedMark);
}

void TimelineArguments::add_gpu(const GpuEvent& event, u32 index) {
  switch (event.kind()) {
    case Kind::overhead: return;
    case Kind::sync: return add_sync(event);
    case Kind::kernel:
      add_kernel(event);
      add_arguments(collectives_.of_kernel(index));
      break;
    case Kind::copy: add_copy(event); break;
    case Kind::set:
      number(Number::bytes, "bytes", i64(event.as<SetInfo>().bytes));
      bandwidth(event.bandwidth);
      add_node(event.as<SetInfo>().graph, event.as<SetInfo>().graph_node);
      break;
    case Kind::graph: text("graph id", i64(event.record->id)); break;
    default: text("event_id", i64(event.record->id));
  }
  text("device", i64(event.device));
  if (event.context) text("context", i64(event.context));
  text("stream", event.kind() == Kind::gpu_event ? signed_stream(event.stream) : std::to_string(event.stream));
  number(Number::correlation, kineto::kCorrelation, i64(event.correlation));
}

void TimelineArguments::add_kernel(const GpuEvent& event) {
  const auto& r = event.as<KernelInfo>();
  if (r.queued_ns) text("queued", std::to_string(i64(r.queued_ns)));
  if (r.registers) {  // every kernel has some: else the trace does not say, and neither of its memory
    text("registers per thread", i64(r.registers));
    text("shared memory", i64(r.static_shared) + r.dynamic_shared);
  }
  if (event.blocks_per_sm > 0) {
    text("blocks per SM", event.blocks_per_sm);
    text("warps per SM", event.warps_per_sm);
  }
  if (r.block[0]) {
    text("grid", size3(r.grid));
    text("block", size3(r.block));
  }
  if (event.occupancy >= 0) text("est. achieved occupancy %", i64(std::lround(event.occupancy)));
  add_node(r.graph, r.graph_node);
  if (r.priority != INT32_MIN) text("priority", i64(r.priority));
  if (r.cluster[0]) text("cluster", size3(r.cluster));
}

void TimelineArguments::add_copy(const GpuEvent& event) {
  const auto& r = event.as<CopyInfo>();
  if (r.from_device != r.to_device) {
    text("fromDevice", i64(r.from_device));
    text("inDevice", i64(event.device));
    text("toDevice", i64(r.to_device));
  }
  number(Number::bytes, "bytes", i64(r.bytes));
  bandwidth(event.bandwidth);
  add_node(r.graph, r.graph_node);
}

void TimelineArguments::add_sync(const GpuEvent& event) {
  const auto& r = event.as<SyncInfo>();
  text("cuda_sync_kind", model_.names[event.name]);
  if (r.head.id == kEventSync || r.head.id == kStreamWaitEvent) {
    text("wait_on_stream", signed_stream(event.wait_stream));
    text("wait_on_cuda_event_record_corr_id", event.wait_correlation ? i64(event.wait_correlation) : -1);
    text("wait_on_cuda_event_id", i64(r.event));
  }
  text("stream", signed_stream(event.stream));
  number(Number::correlation, kineto::kCorrelation, i64(event.correlation));
  text("device", i64(event.device));
  text("context", i64(event.context));
}

void TimelineArguments::add_node(u32 graph, u64 node) {
  if (!graph && !node) return;
  text("graph id", i64(graph));
  text("graph node id", i64(node));
}

void TimelineArguments::text(const char* key, const std::string& value) {
  put_varint(set_, 2 * u64(key_of(key)) + 1);
  put_varint(set_, value_of(value));
  members_++;
}

void TimelineArguments::text(const char* key, float value) {
  if (!std::isfinite(value)) return;  // as in the trace
  text(key, write_real(value));
}

void TimelineArguments::number(Number number, const char* key, i64 value) {
  if (value > kLargestExact || value < -kLargestExact) return text(key, value);
  i64& last = last_[size_t(number)];
  // The key of a number is that of its members in sets: "size" of calls and "bytes" of copies are of one kind.
  put_varint(set_, 2 * u64(size_t(number) + kNumbers * key_of(key)));
  put_varint(numbers_[size_t(number)], zigzag(value - last));
  last = value;
  members_++;
}

void TimelineArguments::bandwidth(float value) {
  if (value < 0 || !std::isfinite(value)) return;
  put_varint(set_, 2 * u64(size_t(Number::bandwidth) + kNumbers * key_of("memory bandwidth (GB/s)")));
  put_varint(numbers_[size_t(Number::bandwidth)], same_bits<u32>(value));
  members_++;
}

u32 TimelineArguments::key_of(const char* key) {
  auto [at, is_new] = keys_.try_emplace(key, u32(key_texts_.size()));
  if (is_new) key_texts_.push_back(key);
  return at->second;
}

u32 TimelineArguments::value_of(const std::string& value) {
  auto [at, is_new] = values_.try_emplace(value, u32(value_texts_.size()));
  if (is_new) value_texts_.push_back(value);
  return at->second;
}

Json TimelineArguments::head() const {
  return {{"keys", key_texts_},
          {"values", value_texts_},
          {"numbers", {"whole", "whole", "whole", "float"}},
          {"sets", in_order_.size()}};
}

std::string TimelineArguments::sets() const {
  std::string out;
  for (const std::string* set : in_order_) {
    put_varint(out, set->size());
    out += *set;
  }
  return out;
}

std::string TimelineArguments::numbers() const {
  std::string out;
  for (const std::string& one : numbers_) {
    put_varint(out, one.size());
    out += one;
  }
  return out;
}

}  // namespace tprof
