#include "summary.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "kineto/directory.h"
#include "kineto/ledger.h"
#include "kineto/read.h"
#include "report/summary.h"

namespace tprof {
namespace {

// Reading and all analyses take 3 to 4 us an event on a machine of 2.5 GHz: this many take about 2 s.
constexpr u64 kMostEvents = 500'000;

struct Candidate {
  const NewTrace* trace;
  std::string worker, span;
};

// The newest trace of each worker. Ours only: of others (the program's own torch.profiler may write here) nothing tells
// how many events they have.
std::vector<Candidate> candidates(const std::string& directory, const std::vector<NewTrace>& written) {
  std::map<std::string, Candidate> newest;  // by worker
  for (const kineto::TraceFile& file : kineto::list_traces(directory).files)
    for (const NewTrace& trace : written)
      if (trace.path == file.path && trace.summary.ledger.is_object())
        newest[file.worker] = {&trace, file.worker, file.span};  // spans come in order
  std::vector<Candidate> out;
  for (auto& [worker, candidate] : newest) out.push_back(candidate);
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
  return candidate.worker + ", one of " + std::to_string(workers) + " processes";
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
  if (traces > all.size())
    subject.which += (subject.which.empty() ? "span " : ", span ") + slowest->span + ", the last";
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
