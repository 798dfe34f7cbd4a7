// THE table of rules of `tprof check`, and the findings that its parts collect.
#pragma once
#include <map>

#include "check/check.h"
#include "json/json.h"
#include "kineto/read/parse.h"

namespace tprof {

using kineto::has_member;
using kineto::member;
using kineto::text_of;
using kineto::Value;

// RULE(name, severity, "what is wrong: what viewers do then")
#define TPROF_CHECK_RULES(RULE)                                                                                     \
  RULE(bad_json, error, "not strict JSON: the plugin drops the file or the browser's trace view cannot read it")    \
  RULE(damaged_gzip, error, "the gzip file is cut off or damaged: no viewer reads it")                              \
  RULE(not_an_object, error, "the top level is not an object: the plugin drops the file")                           \
  RULE(no_events, error, "traceEvents is missing or not an array: the plugin drops the file")                       \
  RULE(event_not_object, error, "an event is not an object: the plugin drops the file")                             \
  RULE(event_name, error, "an event has no string name: the plugin drops the file")                                 \
  RULE(event_category, error, "an X event has no string cat: the plugin drops the file")                            \
  RULE(event_time, error, "an X event's ts or dur is missing or not a number: the plugin drops the file")           \
  RULE(event_args, error, "args is neither absent nor an object: the plugin drops the file")                        \
  RULE(kernel_device, error, "a kernel has no integer args.device from 0 to 63: the plugin drops the file")         \
  RULE(blocks_per_sm, error, "blocks per SM is not a number: the plugin drops the file")                            \
  RULE(call_stack, error, "Call stack is not a string: the plugin drops the file")                                  \
  RULE(flow_id, error, "a fwdbwd event has no id or no numeric ts: the plugin drops the file")                      \
  RULE(step_number, error, "no number follows ProfilerStep: the plugin drops the file, HTA does not load it")       \
  RULE(zero_steps, error, "all steps together take no time: the plugin drops the file")                             \
  RULE(too_deep, error, "190 or more levels on one row: the plugin never finishes loading the run")                 \
  RULE(communication_dims, error, "an nccl:/gloo: op has a tensor list or no Input type: the plugin drops the run") \
  RULE(memory_device, error, "a [memory] event names a GPU beyond deviceProperties: the plugin drops the file")     \
  RULE(ledger_sum, error, "the ledger does not add up: seen is not written plus dropped")                           \
  RULE(negative_time, warning, "a ts or dur is negative: HTA adds it to its sums as it is")                         \
  RULE(crossing, warning, "ranges on one row cross: the plugin and older Perfetto drop the inner one")              \
  RULE(tid_not_integer, warning, "the tid of an operator is not an integer: modules and fwdbwd fail in the plugin") \
  RULE(same_external_id, warning, "an External id occurs twice: kernels move to the wrong operator")                \
  RULE(gpu_step, warning, "a ProfilerStep on the GPU counts as one more step")                                      \
  RULE(memory_device_type, warning,                                                                                 \
       "a [memory] event is neither of a CPU nor of a CUDA device: the plugin's memory curve fails")                \
  RULE(call_external_id, warning,                                                                                   \
       "a call that launched GPU work has no External id: the plugin attributes it to some nn.Module")              \
  RULE(unknown_external_id, warning, "no range has the External id of a call: the plugin loses what it launched")   \
  RULE(work_without_call, warning,                                                                                  \
       "GPU work has no cuda_runtime call with its correlation: the plugin shows it under no operator")             \
  RULE(before_launch, warning, "GPU work begins before the call that launched it: launch delays are wrong")         \
  RULE(kernel_pid, warning, "a kernel's pid is not its device: the plugin shows its GPU counters elsewhere")        \
  RULE(gpu_stream, warning, "GPU work has no integer args.stream: HTA takes it for the CPU's")                      \
  RULE(host_stream, warning, "an event of the host has args.stream: HTA takes it for GPU work")                     \
  RULE(no_blocks, warning, "blocks per SM is not above 0: the plugin leaves the kernel out of its figures")         \
  RULE(python_id, warning, "the call of an nn.Module has no Python id of its own: the plugin has no Module view")   \
  RULE(python_parent, warning, "no event has the Python parent id of a call: the plugin takes it for a root")       \
  RULE(flow_reused, warning, "an ac2g id has more than one head or tail: viewers draw one arrow for them")          \
  RULE(first_event, warning, "the first event is no metadata event: HTA cannot link event 0")                       \
  RULE(nothing_shown, warning, "neither operators nor steps: the plugin shows nonsense for the average step")       \
  RULE(no_steps, warning, "no ProfilerStep: the plugin shows one step 0 and HTA has no iterations")                 \
  RULE(file_name, warning, "the name is not <worker>[.<digits>].pt.trace.json[.gz]: the plugin does not see it")    \
  RULE(rank_unreadable, warning, "distributedInfo has a rank that HTA cannot find (it wants \"rank\": N)")          \
  RULE(ledger_rank, warning, "the ledger has a key rank: HTA may take it for the trace's")                          \
  RULE(events_dropped, warning, "not every event that was seen is in this trace")                                   \
  RULE(recording_damaged, warning, "the recording that this trace was made from was damaged")                       \
  RULE(steps_guessed, note, "the signs of steps disagree: averages may cover other steps than you expect")

enum CheckId {
#define RULE(name, severity, text) k_##name,
  TPROF_CHECK_RULES(RULE)
#undef RULE
};

// Which event a finding is about; its text is made only when it is needed.
struct Where {
  u32 index;
  const Value& event;
  std::string text() const {
    std::string out = "event " + std::to_string(index);
    if (const Value& name = member(event, "name"); name.is_text()) out += " " + json_ascii(text_of(name));
    return out;
  }
};

class Findings {
 public:
  void add(CheckId id, const std::string& where) {
    auto [it, added] = found_.try_emplace(id, Finding{&check_rules()[id], where});
    if (!added) it->second.count++;
  }
  void add(CheckId id, const Where& where) {
    auto it = found_.find(id);
    if (it != found_.end())
      it->second.count++;
    else
      add(id, where.text());
  }
  bool has(CheckId id) const { return found_.contains(id); }
  std::vector<Finding> take() {
    std::vector<Finding> out;
    for (auto& [id, finding] : found_) out.push_back(std::move(finding));
    return out;
  }

 private:
  std::map<CheckId, Finding> found_;  // in order of the table
};

}  // namespace tprof
