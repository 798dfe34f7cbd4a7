#include "tools/check.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <unordered_map>

#include "base/error.h"
#include "kineto/names.h"

namespace tprof {
namespace {

using Json = nlohmann::json;

// RULE(name, severity, "what happens")
#define TPROF_CHECK_RULES(RULE)                                                                             \
  RULE(bad_json, error,                                                                                     \
       "not strict JSON: the plugin drops the file or the browser's trace view cannot read it")             \
  RULE(damaged_gzip, error, "the gzip file is cut off or damaged: no viewer reads it")                      \
  RULE(not_an_object, error, "the top level is not an object: the plugin drops the file")                   \
  RULE(no_events, error, "traceEvents is missing or not an array: the plugin drops the file")               \
  RULE(event_not_object, error, "an event is not an object: the plugin drops the file")                     \
  RULE(event_name, error, "an event has no string name: the plugin drops the file")                         \
  RULE(event_category, error, "an X event has no string cat: the plugin drops the file")                    \
  RULE(event_time, error, "an X event's ts or dur is missing or not a number: the plugin drops the file")   \
  RULE(event_args, error, "args is neither absent nor an object: the plugin drops the file")                \
  RULE(kernel_device, error, "a kernel has no integer args.device from 0 to 63: the plugin drops the file") \
  RULE(blocks_per_sm, error, "blocks per SM is not a number: the plugin drops the file")                    \
  RULE(call_stack, error, "Call stack is not a string: the plugin drops the file")                          \
  RULE(flow_id, error, "a fwdbwd event has no id or no numeric ts: the plugin drops the file")              \
  RULE(step_number, error,                                                                                  \
       "no number follows ProfilerStep: the plugin drops the file, HTA does not load it")                   \
  RULE(zero_steps, error, "all steps together take no time: the plugin drops the file")                     \
  RULE(too_deep, error, "190 or more levels on one row: the plugin never finishes loading the run")         \
  RULE(communication_dims, error,                                                                           \
       "an nccl:/gloo: op has a tensor list or no Input type: the plugin drops the run")                    \
  RULE(ledger_sum, error, "the ledger does not add up: seen is not written plus dropped")                   \
  RULE(negative_time, warning, "a ts or dur is negative: HTA adds it to its sums as it is")                 \
  RULE(crossing, warning, "ranges on one row cross: the plugin and older Perfetto drop the inner one")      \
  RULE(tid_not_integer, warning,                                                                            \
       "the tid of an operator is not an integer: modules and fwdbwd fail in the plugin")                   \
  RULE(same_external_id, warning, "an External id occurs twice: kernels move to the wrong operator")        \
  RULE(gpu_step, warning, "a ProfilerStep on the GPU counts as one more step")                              \
  RULE(first_event, warning, "the first event is no metadata event: HTA cannot link event 0")               \
  RULE(nothing_shown, warning,                                                                              \
       "neither operators nor steps: the plugin shows nonsense for the average step")                       \
  RULE(no_steps, warning, "no ProfilerStep: the plugin shows one step 0 and HTA has no iterations")         \
  RULE(file_name, warning,                                                                                  \
       "the name is not <worker>[.<digits>].pt.trace.json[.gz]: the plugin does not see it")                \
  RULE(rank_unreadable, warning, "distributedInfo has a rank that HTA cannot find (it wants \"rank\": N)")  \
  RULE(ledger_rank, warning, "the ledger has a key rank: HTA may take it for the trace's")                  \
  RULE(events_dropped, warning, "not every event that was seen is in this trace")                           \
  RULE(recording_damaged, warning, "the recording that this trace was made from was damaged")

enum Id {
#define RULE(name, severity, text) k_##name,
  TPROF_CHECK_RULES(RULE)
#undef RULE
};

std::string read_all(const std::string& path, bool& damaged) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw Error(kExitUnreadable, path + ": cannot be opened: " + strerror(errno));
  gzbuffer(file.get(), 1 << 20);
  std::string text;
  std::vector<char> buffer(1 << 20);
  int n;
  while ((n = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    text.append(buffer.data(), size_t(n));
  int code = Z_OK;
  gzerror(file.get(), &code);
  damaged = n < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR;
  if (code == Z_ERRNO && text.empty())
    throw Error(kExitUnreadable, path + ": cannot be read: " + strerror(errno));
  return text;
}

struct Range {
  i64 begin, end;
  u32 row;
  u32 event;
};

// An event's place, put into words only when it is wanted.
struct Where {
  u32 index;
  const Json& event;
  std::string text() const {
    std::string out = "event " + std::to_string(index);
    if (event.is_object() && event.contains("name"))
      out += " " + event["name"].dump(-1, ' ', true, Json::error_handler_t::replace);
    return out;
  }
};

class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path) {}

  std::vector<Finding> run() {
    static const std::regex name_rule(R"(^(.*?)(\.\d+)?\.pt\.trace\.json(?:\.gz)?$)");
    std::string name = path_.substr(path_.rfind('/') + 1);
    if (!std::regex_match(name, name_rule)) add(k_file_name, name);
    bool damaged = false;
    std::string text = read_all(path_, damaged);
    if (damaged)
      add(k_damaged_gzip, "after " + std::to_string(text.size()) + " bytes");
    else
      check_text(text);
    std::vector<Finding> out;
    for (auto& [id, finding] : found_) out.push_back(std::move(finding));
    return out;
  }

 private:
  void add(Id id, const std::string& where) {
    auto [it, added] = found_.try_emplace(id, Finding{&check_rules()[id], where});
    if (!added) it->second.count++;
  }
  void add(Id id, const Where& where) {
    auto it = found_.find(id);
    if (it != found_.end())
      it->second.count++;
    else
      add(id, where.text());
  }
  void check_text(const std::string& text);
  u32 row_of(const Json& event);
  void check_event(const Json& event);
  void check_args(const std::string& category, const Json& args, const Where& where);
  void check_step(const std::string& name, const std::string& category, i64 dur, const Where& where);
  void check_communication(const std::string& name, const Where& where);
  void check_rows();
  void check_top(const Json& top, const std::string& text);
  void check_ledger(const Json& ledger);

  std::string path_;
  std::map<Id, Finding> found_;
  u32 events_ = 0;
  std::vector<Range> ranges_;
  std::unordered_map<std::string, u32> rows_;
  Json last_pid_, last_tid_;
  u32 last_row_ = 0;
  std::vector<i64> external_ids_;
  u64 operators_ = 0, steps_ = 0;
  i64 steps_ns_ = 0;
};

void Checker::check_text(const std::string& text) {
  // Events are looked at one by one and thrown away: a trace of a million events must not become a tree.
  std::string key;
  bool in_events = false;
  int events_depth = 0;
  bool has_events = false;
  auto visit = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::key:
        if (depth == 1) key = parsed.get<std::string>();
        return true;
      case Json::parse_event_t::array_start:
        if (depth == 1 && key == kineto::kTraceEvents && !in_events) {
          in_events = has_events = true;
          events_depth = depth;
        }
        return true;
      case Json::parse_event_t::array_end:
        if (in_events && depth == events_depth) in_events = false;
        if (!in_events || depth != events_depth + 1) return true;
        check_event(parsed);
        return false;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::value:
        if (!in_events || depth != events_depth + 1) return true;
        check_event(parsed);
        return false;
      default:
        return true;
    }
  };
  Json top;
  try {
    top = Json::parse(text, visit);
  } catch (const Json::exception& e) {
    add(k_bad_json, e.what());
    return;
  }
  if (!top.is_object()) {
    add(k_not_an_object, std::string("it is of type ") + top.type_name());
    return;
  }
  if (!has_events) {
    add(k_no_events, "top level");
    return;
  }
  check_rows();
  check_top(top, text);
}

void Checker::check_event(const Json& event) {
  u32 index = events_++;
  const Where where{index, event};
  if (!event.is_object()) {
    add(k_event_not_object, where);
    return;
  }
  static const std::string kNone;
  auto text = [&](const char* key) -> const std::string& {
    auto it = event.find(key);
    return it != event.end() && it->is_string() ? it->get_ref<const std::string&>() : kNone;
  };
  auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    auto it = event.find(key);
    return it != event.end() && ((*it).*is)();
  };
  const std::string &phase = text("ph"), &name = text("name");
  std::string category = text("cat");
  if (!has("name", &Json::is_string)) add(k_event_name, where);
  if (index == 0 && phase != "M") add(k_first_event, where);
  if (category == kineto::kForwardBackward && (!event.contains("id") || !has("ts", &Json::is_number)))
    add(k_flow_id, where);
  if (event.contains("args") && !event["args"].is_object()) add(k_event_args, where);
  if (phase != "X") return;

  if (!has("cat", &Json::is_string)) add(k_event_category, where);
  if (!has("ts", &Json::is_number) || !has("dur", &Json::is_number)) {
    add(k_event_time, where);
    return;
  }
  double ts = event["ts"].get<double>(), dur = event["dur"].get<double>();
  if (ts < 0 || dur < 0) add(k_negative_time, where);
  i64 begin = llround(std::clamp(ts, -9e15, 9e15) * 1000),
      length = llround(std::clamp(dur, 0.0, 9e15) * 1000);
  std::transform(category.begin(), category.end(), category.begin(),
                 [](unsigned char c) { return char(tolower(c)); });
  if (event.contains("args") && event["args"].is_object()) check_args(category, event["args"], where);
  if (category == kineto::kKernel &&
      !(event.contains("args") && event["args"].is_object() && event["args"].contains("device")))
    add(k_kernel_device, where);
  check_step(name, category, length, where);
  check_communication(name, where);
  bool host = category == kineto::kCpuOp || category == "operator" || category == kineto::kUserAnnotation ||
              category == "python_function" || category == "python";
  if (!host) return;
  operators_ += category == kineto::kCpuOp || category == "operator";
  if (!has("tid", &Json::is_number_integer)) add(k_tid_not_integer, where);
  ranges_.push_back({begin, begin + length, row_of(event), index});
}

// A number for the event's (pid, tid); most events have the row of the one before.
u32 Checker::row_of(const Json& event) {
  auto field = [&](const char* key) { return event.contains(key) ? event[key] : Json(); };
  Json pid = field("pid"), tid = field("tid");
  if (rows_.empty() || pid != last_pid_ || tid != last_tid_) {
    last_row_ = rows_.emplace(pid.dump() + "/" + tid.dump(), static_cast<u32>(rows_.size())).first->second;
    last_pid_ = std::move(pid);
    last_tid_ = std::move(tid);
  }
  return last_row_;
}

void Checker::check_args(const std::string& category, const Json& args, const Where& where) {
  if (args.contains(kineto::kCallStack) && !args[kineto::kCallStack].is_string()) add(k_call_stack, where);
  if (category == kineto::kKernel) {
    bool good = args.contains("device") && args["device"].is_number_integer();
    if (args.contains("device") && (!good || args["device"].get<i64>() < 0 || args["device"].get<i64>() > 63))
      add(k_kernel_device, where);
    if (args.contains("blocks per SM") && !args["blocks per SM"].is_number()) add(k_blocks_per_sm, where);
  }
  bool owns_id = category == kineto::kCpuOp || category == "operator" || category == kineto::kUserAnnotation;
  if (owns_id && args.contains(kineto::kExternalId) && args[kineto::kExternalId].is_number_integer())
    external_ids_.push_back(args[kineto::kExternalId].get<i64>());
}

void Checker::check_step(const std::string& name, const std::string& category, i64 dur, const Where& where) {
  if (!name.starts_with(kineto::kStep)) return;
  size_t hash = name.find('#');
  bool number = hash == strlen(kineto::kStep) && name.size() > hash + 1 &&
                std::all_of(name.begin() + hash + 1, name.end(), [](unsigned char c) { return isdigit(c); });
  if (!number) add(k_step_number, where);
  if (category == kineto::kGpuUserAnnotation) add(k_gpu_step, where);
  if (category != kineto::kUserAnnotation && category != kineto::kCpuOp && category != "operator") return;
  steps_++;
  steps_ns_ += dur;
}

void Checker::check_communication(const std::string& name, const Where& where) {
  if (!name.starts_with("nccl:") && !name.starts_with("gloo:")) return;
  if (!where.event.contains("args") || !where.event["args"].is_object()) return;
  const Json& args = where.event["args"];
  auto dims = args.find(kineto::kInputDims);
  if (dims == args.end() || !dims->is_array()) return;
  bool nested = false;
  for (const Json& shape : *dims)
    for (const Json& size : shape) nested = nested || size.is_array();
  if (nested || !args.contains(kineto::kInputType)) add(k_communication_dims, where);
}

void Checker::check_rows() {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    if (a.row != b.row) return a.row < b.row;
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  constexpr size_t kTooDeep = 190;
  std::vector<const Range*> stack;
  for (const Range& r : ranges_) {
    if (!stack.empty() && stack.back()->row != r.row) stack.clear();
    while (!stack.empty() && stack.back()->end <= r.begin) stack.pop_back();
    if (!stack.empty() && r.end > stack.back()->end) {
      add(k_crossing,
          "event " + std::to_string(r.event) + " and event " + std::to_string(stack.back()->event));
      continue;
    }
    stack.push_back(&r);
    if (stack.size() == kTooDeep) add(k_too_deep, "event " + std::to_string(r.event));
  }
  std::sort(external_ids_.begin(), external_ids_.end());
  for (size_t i = 1; i < external_ids_.size(); i++)
    if (external_ids_[i] == external_ids_[i - 1] && external_ids_[i] != 0)
      add(k_same_external_id, std::to_string(external_ids_[i]));
  if (steps_ && steps_ns_ == 0) add(k_zero_steps, std::to_string(steps_) + " steps");
  if (!steps_ && !operators_) add(k_nothing_shown, "all events");
  if (!steps_ && operators_) add(k_no_steps, "all events");
}

void Checker::check_top(const Json& top, const std::string& text) {
  if (top.contains(kineto::kDistributedInfo)) {
    const Json& job = top[kineto::kDistributedInfo];
    if (job.is_object() && job.contains("rank")) {
      // HTA takes the first match of this pattern anywhere in the file.
      size_t at = text.find("\"rank\":");
      bool blank = at != std::string::npos && at + 8 < text.size() &&
                   isspace(static_cast<unsigned char>(text[at + 7]));
      size_t digits = blank ? text.find_first_not_of(" \t\r\n", at + 7) : std::string::npos;
      bool same = digits != std::string::npos && job["rank"].is_number_integer() &&
                  std::to_string(job["rank"].get<i64>()) ==
                      text.substr(digits, text.find_first_not_of("0123456789", digits) - digits);
      if (!same) add(k_rank_unreadable, "distributedInfo.rank is " + job["rank"].dump());
    }
  }
  if (top.contains(kineto::kLedger) && top[kineto::kLedger].is_object()) check_ledger(top[kineto::kLedger]);
}

void Checker::check_ledger(const Json& ledger) {
  auto number = [&](const char* key) {
    return ledger.contains(key) && ledger[key].is_number_integer() ? ledger[key].get<i64>() : 0;
  };
  i64 dropped = 0;
  std::string reasons;
  if (ledger.contains("dropped") && ledger["dropped"].is_object())
    for (const auto& [reason, count] : ledger["dropped"].items()) {
      if (!count.is_number_integer()) continue;
      dropped += count.get<i64>();
      reasons += (reasons.empty() ? "" : ", ") + reason + " " + count.dump();
    }
  if (number("seen") != number("written") + dropped)
    add(k_ledger_sum, std::to_string(number("seen")) + " seen, " + std::to_string(number("written")) +
                          " written, " + std::to_string(dropped) + " dropped");
  if (dropped) add(k_events_dropped, reasons);
  if (ledger.contains("damage")) add(k_recording_damaged, ledger["damage"].dump());
  if (ledger.dump().find("\"rank\":") != std::string::npos) add(k_ledger_rank, "tprof");
}

}  // namespace

const std::vector<CheckRule>& check_rules() {
  static const std::vector<CheckRule> rules = {
#define RULE(name, severity, text) {#name, Severity::severity, text},
      TPROF_CHECK_RULES(RULE)
#undef RULE
  };
  return rules;
}

std::string Finding::line() const {
  std::string out = is_error() ? "error" : "warning";
  out += std::string(" ") + rule->id + ": " + rule->text + "; " + where;
  if (count > 1) out += " and " + std::to_string(count - 1) + " more";
  return out;
}

std::vector<Finding> check_trace(const std::string& path) { return Checker(path).run(); }

bool is_valid(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.is_error(); });
}

}  // namespace tprof
