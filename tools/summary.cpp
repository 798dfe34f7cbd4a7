#include "summary.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "kineto/directory.h"
#include "kineto/ledger.h"
#include "kineto/read.h"
#include "nested.h"
#include "report/summary.h"

namespace tprof {
namespace {

// Reading and all analyses take 3 to 4 us an event on a machine of 2.5 GHz: this many take about 2 s.
constexpr u64 kMostEvents = 500'000;

struct Candidate {
  const NewTrace* trace;
  SpanTime time;
  u64 steps;
  bool alone_longest = true;         // no other of its worker is as long
  std::vector<std::string> inside;   // spans of its worker that it holds: flushes
};

Candidate candidate_of(const NewTrace& trace, const kineto::TraceFile& file) {
  const auto& ledger = trace.summary.ledger;
  Candidate out{&trace, {file.run, file.worker, file.span}, kineto::read_counted(ledger).steps};
  auto number = [&](const char* key) -> u64 {
    const auto& span = ledger.contains("span") ? ledger["span"] : Json();
    return span.contains(key) && span[key].is_number_unsigned() ? span[key].get<u64>() : 0;
  };
  out.time.begin_ns = number("begin_ns");
  out.time.end_ns = out.time.begin_ns + number("duration_ns");
  return out;
}

// By steps: windows of a schedule have equally many, whatever time they took.
bool is_longer(const Candidate& a, const Candidate& b) {
  if (a.steps || b.steps) return a.steps > b.steps;
  return a.time.end_ns - a.time.begin_ns > b.time.end_ns - b.time.begin_ns;
}

// The longest trace of each worker, of equally long ones the newest: what was flushed is a part of a window. Ours only:
// of others (the program's own torch.profiler may write here) nothing tells how many events they have.
std::vector<Candidate> candidates(const std::string& directory, const std::vector<NewTrace>& written) {
  std::map<std::string, std::vector<Candidate>> all;  // by worker
  for (const kineto::TraceFile& file : kineto::list_traces(directory).files)
    for (const NewTrace& trace : written)
      if (trace.path == file.path && trace.summary.ledger.is_object())
        all[file.worker].push_back(candidate_of(trace, file));  // spans come in order
  std::vector<Candidate> out;
  for (const auto& [worker, spans] : all) {
    Candidate longest = spans[0];
    for (const Candidate& span : spans)
      if (!is_longer(longest, span)) longest = span;
    for (const Candidate& span : spans) {
      longest.alone_longest &= span.trace == longest.trace || is_longer(longest, span);
      if (lies_inside(span.time, longest.time)) longest.inside.push_back(span.time.span);
    }
    out.push_back(longest);
  }
  // What a program did before it trained is not what was asked for.
  auto before = [](const Candidate& c) { return kineto::read_counted(c.trace->summary.ledger).before_training; };
  if (!std::all_of(out.begin(), out.end(), before)) std::erase_if(out, before);
  return out;
}

std::string name_of(const Candidate& candidate, size_t workers) {
  const auto& head = candidate.trace->summary.head;
  if (head.is_object() && head.contains("distributedInfo"))
    if (const auto& job = head["distributedInfo"];
        job.is_object() && job.contains("rank") && job.contains("world_size"))
      return "rank " + job["rank"].dump() + " of " + job["world_size"].dump();
  return candidate.time.worker + ", one of " + std::to_string(workers) + " processes";
}

std::string compose(const std::string& directory, const std::vector<Candidate>& all, size_t traces) {
  const Candidate* slowest = nullptr;
  std::optional<Model> model;
  double longest = -1;
  for (const Candidate& candidate : all) try {
    Model read = kineto::read_trace(candidate.trace->path);
    if (all.size() > 1) {
      Windows windows = windows_of(read);
      double step_ns = windows.has_steps ? windows.per_step(windows.steps_ns()) : 0;
      if (step_ns <= longest) continue;
      longest = step_ns;
    }
    slowest = &candidate;
    model = std::move(read);
  } catch (const Error&) {  // one rank's damage is no reason to say nothing of the others
  }
  if (!slowest) return "";
  std::vector<DevicePeak> table = device_table();
  Facts facts(*model, table);
  SummarySubject subject;
  if (all.size() > 1) subject.which = name_of(*slowest, all.size()) + (longest > 0 ? ", the slowest one" : "");
  if (traces > all.size()) {
    subject.which += (subject.which.empty() ? "span " : ", span ") + slowest->time.span +
                     (slowest->alone_longest ? ", the longest" : ", the last");
    for (const std::string& span : slowest->inside) subject.which += "; span " + span + " lies inside it";
  }
  subject.dropped = slowest->trace->summary.dropped;
  subject.more = "tprof overview " + directory + ", or advise, stats, steps";
  Operators ops = operators(*model, build_op_tree(*model), OperatorKey::name);
  return summary_text(facts, advise(facts), ops, subject, text_style(stderr));
}

}  // namespace

bool show_summary(const std::string& directory, const std::vector<NewTrace>& written) {
  std::vector<Candidate> all = candidates(directory, written);
  if (all.empty()) return true;
  u64 events = 0;
  for (const Candidate& candidate : all) events += candidate.trace->summary.written;
  if (events > kMostEvents) return false;
  print(stderr, compose(directory, all, written.size()), text_style(stderr).color);
  return true;
}

}  // namespace tprof
