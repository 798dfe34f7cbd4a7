#include "check/check.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <limits>
#include <regex>
#include <unordered_map>

#include "check/gpu.h"
#include "json/json.h"
#include "kineto/ledger.h"
#include "kineto/names.h"
#include "kineto/read/pieces.h"
#include "model/communication.h"

namespace tprof {
namespace {

struct Range {
  i64 begin, end;
  u32 row;
  u32 event;
};

class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path) {}

  std::vector<Finding> run() {
    static const std::regex name_rule(R"(^(.*?)(\.\d+)?\.pt\.trace\.json(?:\.gz)?$)");
    std::string name = path_.substr(path_.rfind('/') + 1);
    if (!std::regex_match(name, name_rule)) add(k_file_name, name);
    check_file();
    return found_.take();
  }

 private:
  template <class Place>
  void add(CheckId id, const Place& where) {
    found_.add(id, where);
  }
  void check_file();
  void check_piece(const kineto::ParsedPiece& piece);
  bool check_end(const kineto::TraceScanner& scanner);
  void look_for_rank(std::string_view text);
  u32 row_of(const Value& event);
  void check_event(const Value& event);
  void check_args(std::string_view category, const Value& args, const Where& where);
  void check_step(std::string_view name, std::string_view category, i64 dur, const Where& where);
  void check_communication(std::string_view name, const Where& where);
  void check_python(const Value& args, const Where& where);
  void check_python_ids();
  void check_rows();
  void check_job(const Json& job);
  void check_ledger(const Json& ledger);

  std::string path_;
  Findings found_;
  GpuChecker gpu_{found_};
  u32 events_ = 0;
  std::vector<Range> ranges_;
  std::unordered_map<std::string, u32> rows_;
  std::vector<i64> external_ids_;
  std::unordered_map<i64, u32> python_ids_;  // number of occurrences by id
  std::vector<i64> python_parents_;
  Json job_, ledger_;
  bool rank_seen_ = false;
  std::string first_rank_;  // the digits that HTA finds
  u64 operators_ = 0, steps_ = 0;
  i64 steps_ns_ = 0;
};

// Events are checked one by one and not kept, so that a trace of a million events does not become a tree.
void Checker::check_file() {
  kineto::TraceScanner first(path_, 4096);
  kineto::Piece piece;
  first.next(piece);
  if (first.is_list()) return add(k_not_an_object, "the top level is a list");
  kineto::ParsedPieces pieces(path_, kineto::Strictness::strict);
  for (kineto::ParsedPiece parsed; pieces.next(parsed);) check_piece(parsed);
  if (!check_end(pieces.scanner())) return;
  check_rows();
  check_python_ids();
  gpu_.finish();
  check_job(job_);
  if (ledger_.is_object()) check_ledger(ledger_);
}

void Checker::check_piece(const kineto::ParsedPiece& piece) {
  if (!rank_seen_) look_for_rank(piece.text);
  if (piece.key == kineto::kDeviceProperties) gpu_.devices(bounded_json(piece.text).size());
  if (piece.key == kineto::kDistributedInfo) job_ = bounded_json(piece.text);
  if (piece.key == kineto::kLedger) ledger_ = bounded_json(piece.text);
  if (!piece.value)
    add(k_bad_json, piece.error.why + (" at byte " + std::to_string(piece.offset + piece.error.where)));
  else if (piece.event)
    check_event(*piece.value);
}

// Returns false if further checks make no sense.
bool Checker::check_end(const kineto::TraceScanner& scanner) {
  switch (scanner.end()) {
    case kineto::ScanEnd::damaged: add(k_damaged_gzip, scanner.why()); return false;
    case kineto::ScanEnd::not_object: add(k_not_an_object, scanner.why()); return false;
    case kineto::ScanEnd::whole: break;
    default: add(k_bad_json, scanner.why()); return false;
  }
  if (!scanner.saw_events()) add(k_no_events, "top level");
  return scanner.saw_events() && !found_.has(k_bad_json);
}

void Checker::check_event(const Value& event) {
  u32 index = events_++;
  const Where where{index, event};
  if (!event.is_object()) {
    add(k_event_not_object, where);
    return;
  }
  const Value &ts = member(event, "ts"), &dur = member(event, "dur"), &args = member(event, "args");
  std::string_view phase = text_of(member(event, "ph")), name = text_of(member(event, "name"));
  std::string category(text_of(member(event, "cat")));
  if (!member(event, "name").is_text()) add(k_event_name, where);
  if (index == 0 && phase != "M") add(k_first_event, where);
  if (category == kineto::kForwardBackward && (!has_member(event, "id") || !ts.is_number())) add(k_flow_id, where);
  if (has_member(event, "args") && !args.is_object()) add(k_event_args, where);
  if (phase != "X") gpu_.check_other(phase, name, category, where);
  if (phase != "X") return;

  if (!member(event, "cat").is_text()) add(k_event_category, where);
  if (!ts.is_number() || !dur.is_number()) {
    add(k_event_time, where);
    return;
  }
  if (ts.as_double() < 0 || dur.as_double() < 0) add(k_negative_time, where);
  i64 begin = llround(std::clamp(ts.as_double(), -9e15, 9e15) * 1000),
      length = llround(std::clamp(dur.as_double(), 0.0, 9e15) * 1000);
  std::transform(category.begin(), category.end(), category.begin(), [](unsigned char c) { return char(tolower(c)); });
  if (args.is_object()) check_args(category, args, where);
  gpu_.check_range(category, begin, where);
  if (category == kineto::kKernel && member(args, "device").is_null()) add(k_kernel_device, where);
  check_step(name, category, length, where);
  check_communication(name, where);
  bool host = category == kineto::kCpuOp || category == "operator" || category == kineto::kUserAnnotation ||
              category == kineto::kPythonFunction || category == "python";
  if (!host) return;
  operators_ += category == kineto::kCpuOp || category == "operator";
  if (!member(event, "tid").is_integer()) add(k_tid_not_integer, where);
  ranges_.push_back({begin, begin + length, row_of(event), index});
}

// A number for the event's (pid, tid).
u32 Checker::row_of(const Value& event) {
  std::string row;
  for (const char* key : {"pid", "tid"}) {
    const Value& field = member(event, key);
    row += field.is_integer() ? std::to_string(field.is_i64() ? u64(field.as_i64()) : field.as_u64())
                              : "\"" + std::string(text_of(field));
    row += '/';
  }
  return rows_.emplace(row, u32(rows_.size())).first->second;
}

void Checker::check_args(std::string_view category, const Value& args, const Where& where) {
  if (has_member(args, kineto::kCallStack) && !member(args, kineto::kCallStack).is_text()) add(k_call_stack, where);
  if (category == kineto::kKernel) {
    const Value& device = member(args, "device");
    if (!device.is_null() && (!device.is_i64() || device.as_i64() < 0 || device.as_i64() > 63))
      add(k_kernel_device, where);
    if (has_member(args, "blocks per SM") && !member(args, "blocks per SM").is_number()) add(k_blocks_per_sm, where);
  }
  if (category == kineto::kPythonFunction) check_python(args, where);
  bool owns_id = category == kineto::kCpuOp || category == "operator" || category == kineto::kUserAnnotation;
  if (const Value& id = member(args, kineto::kExternalId); owns_id && id.is_i64()) external_ids_.push_back(id.as_i64());
}

void Checker::check_python(const Value& args, const Where& where) {
  const Value &id = member(args, kineto::kPythonId), &parent = member(args, kineto::kPythonParentId);
  bool known = id.is_i64() && ++python_ids_[id.as_i64()] == 1;
  if (!known && !member(args, kineto::kPythonModuleId).is_null()) add(k_python_id, where);
  if (parent.is_i64()) python_parents_.push_back(parent.as_i64());
}

void Checker::check_python_ids() {
  for (i64 parent : python_parents_)
    if (!python_ids_.contains(parent)) add(k_python_parent, std::to_string(parent));
}

void Checker::check_step(std::string_view name, std::string_view category, i64 dur, const Where& where) {
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

void Checker::check_communication(std::string_view name, const Where& where) {
  if (!is_collective_label(name)) return;
  const Value &args = member(where.event, "args"), &dims = member(args, kineto::kInputDims);
  if (!dims.is_list()) return;
  bool nested = false;
  for (const Value& shape : dims.elements())
    if (shape.is_list())
      for (const Value& size : shape.elements()) nested = nested || size.is_list();
  if (nested || !has_member(args, kineto::kInputType)) add(k_communication_dims, where);
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
      add(k_crossing, "event " + std::to_string(r.event) + " and event " + std::to_string(stack.back()->event));
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

// HTA takes the first match of `"rank":\s+(\d+)` anywhere in the file.
void Checker::look_for_rank(std::string_view text) {
  constexpr std::string_view kKey = "\"rank\":";
  const void* found = memmem(text.data(), text.size(), kKey.data(), kKey.size());  // find() is many times slower
  if (!found) return;
  rank_seen_ = true;
  size_t after = static_cast<size_t>(static_cast<const char*>(found) - text.data()) + kKey.size();
  size_t digits = text.find_first_not_of(" \t\r\n", after);
  if (digits == std::string::npos || digits == after) return;
  first_rank_ = text.substr(digits, text.find_first_not_of("0123456789", digits) - digits);
}

void Checker::check_job(const Json& job) {
  if (!job.is_object() || !job.contains("rank")) return;
  const Json& rank = job["rank"];
  if (!rank.is_integer() || std::to_string(rank.integer()) != first_rank_)
    add(k_rank_unreadable, "distributedInfo.rank is " + json_line(rank));
}

void Checker::check_ledger(const Json& ledger) {
  auto number = [&](const char* key) {
    return ledger.contains(key) && ledger[key].is_integer() ? ledger[key].integer() : 0;
  };
  i64 dropped = 0;
  std::string reasons;
  if (ledger.contains("dropped") && ledger["dropped"].is_object())
    for (const auto& [reason, count] : ledger["dropped"].items()) {
      if (!count.is_integer()) continue;
      if (__builtin_add_overflow(dropped, count.integer(), &dropped)) dropped = std::numeric_limits<i64>::max();
      reasons += (reasons.empty() ? "" : ", ") + reason + " " + json_line(count);
    }
  i64 sum = 0;
  if (__builtin_add_overflow(number("written"), dropped, &sum) || number("seen") != sum)
    add(k_ledger_sum, std::to_string(number("seen")) + " seen, " + std::to_string(number("written")) + " written, " +
                          std::to_string(dropped) + " dropped");
  if (dropped) add(k_events_dropped, reasons);
  if (Counted counted = kineto::read_counted(ledger); counted.guessed) add(k_steps_guessed, counted_text(counted));
  if (ledger.contains("damage")) add(k_recording_damaged, json_line(ledger["damage"]));
  if (json_line(ledger).find("\"rank\":") != std::string::npos) add(k_ledger_rank, "tprof");
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
  static constexpr const char* kWords[] = {"error", "warning", "note"};
  std::string out = kWords[static_cast<size_t>(rule->severity)];
  out += std::string(" ") + rule->id + ": " + rule->text + "; " + where;
  if (count > 1) out += " and " + std::to_string(count - 1) + " more";
  return out;
}

std::vector<Finding> check_trace(const std::string& path) { return Checker(path).run(); }

bool is_valid(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.is_error(); });
}

}  // namespace tprof
