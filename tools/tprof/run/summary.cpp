#include "run/summary.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "kineto/ledger.h"
#include "kineto/read/directory.h"
#include "kineto/read/read.h"
#include "report/communication.h"
#include "report/summary.h"
#include "run/nested.h"
#include "viewer/viewer.h"

namespace tprof {
namespace {

// Reading and analysing take 3 to 4 us per event at 2.5 GHz, so this many take about 2 s.
constexpr u64 kMaxEvents = 500'000;

struct Candidate {
  const NewTrace* trace;
  SpanTime time;
  u64 steps;
  bool alone_longest = true;        // no other span of its worker is as long
  std::vector<std::string> inside;  // spans of its worker that lie inside it: flushes
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

// Compares the numbers of steps, since the windows of a schedule differ in time but not in steps.
bool is_longer(const Candidate& a, const Candidate& b) {
  if (a.steps || b.steps) return a.steps > b.steps;
  return a.time.end_ns - a.time.begin_ns > b.time.end_ns - b.time.begin_ns;
}

// The longest trace of each worker, or the newest of equally long ones (a flush is a part of a window). Traces of other
// profilers are left out (the program may use torch.profiler itself), since their number of events is not known.
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
  // Traces from before the training are shown only if there are no others.
  auto before = [](const Candidate& c) { return kineto::read_counted(c.trace->summary.ledger).before_training; };
  if (!std::all_of(out.begin(), out.end(), before)) std::erase_if(out, before);
  return out;
}

std::string name_of(const Model& model, const Candidate& candidate, size_t workers) {
  if (model.rank >= 0 && model.world_size > 0)
    return "rank " + std::to_string(model.rank) + " of " + std::to_string(model.world_size) +
           (model.host.empty() ? "" : " on " + model.host);
  return candidate.time.worker + ", one of " + std::to_string(workers) + " processes";
}

// The rank for which the other ranks wait longest; nullptr if they do not wait.
const Rank* waited_for(const Distributed& found, const std::vector<Rank>& ranks) {
  const RankWait* most = nullptr;
  for (const RankWait& wait : found.waits)
    if (!most || wait.late_ns > most->late_ns) most = &wait;
  bool matters = most && double(most->late_ns) > kWaitShare * double(ranks[most->rank].span_ns);
  return matters ? &ranks[most->rank] : nullptr;
}

// Reads the traces: from each what the comparison of ranks needs, and the Model of the one that is shown. That is the
// rank for which the others wait, or else the one with the longest steps.
class Subject {
 public:
  // A trace that cannot be read is skipped.
  void read(const std::vector<Candidate>& all) {
    double longest = -1;
    for (const Candidate& candidate : all) try {
        Model read = kineto::read_trace(candidate.trace->path);
        if (all.size() > 1) {
          ranks_.push_back(rank_of(read, candidate.time.worker));
          Windows windows = windows_of(read);
          double step_ns = windows.has_steps ? windows.per_step(windows.steps_ns()) : 0;
          if (step_ns <= longest) continue;
          longest = step_ns;
        }
        keep(candidate, std::move(read), longest > 0 ? ", the slowest one" : "");
      } catch (const Error&) {  // a damaged trace; the summary is about the others
      }
    keep_ranks(ranks_);
    found_ = distributed(ranks_);
    const Rank* late = waited_for(found_, ranks_);
    for (const Candidate& candidate : all) try {
        if (!late || late->worker != candidate.time.worker) continue;
        if (shown != &candidate) keep(candidate, kineto::read_trace(candidate.trace->path), "");
        why = ", waited for";
      } catch (const Error&) {  // the summary is about another rank
      }
  }

  std::vector<std::string> waiting() const {
    std::vector<std::string> lines = waiting_lines(found_, ranks_);
    if (std::string uneven = uneven_steps(ranks_); !uneven.empty()) lines.push_back(std::move(uneven));
    return lines;
  }
  RankFacts facts() const { return facts_of(found_, ranks_, shown->time.worker); }

  const Candidate* shown = nullptr;
  std::optional<Model> model;
  std::string why;  // why this trace of several was chosen

 private:
  void keep(const Candidate& candidate, Model&& read, const char* reason) {
    shown = &candidate;
    model = std::move(read);
    why = reason;
  }

  std::vector<Rank> ranks_;
  Distributed found_;
};

std::string compose(const std::string& directory, const std::vector<Candidate>& all, size_t traces) {
  Subject chosen;
  chosen.read(all);
  if (!chosen.shown) return "";
  std::vector<DevicePeak> table = device_table();
  Facts facts(*chosen.model, table);
  facts.rank = chosen.facts();
  SummarySubject subject;
  subject.waiting = chosen.waiting();
  if (all.size() > 1) subject.which = name_of(*chosen.model, *chosen.shown, all.size()) + chosen.why;
  if (traces > all.size()) {
    subject.which += (subject.which.empty() ? "span " : ", span ") + chosen.shown->time.span +
                     (chosen.shown->alone_longest ? ", the longest" : ", the last");
    for (const std::string& span : chosen.shown->inside) subject.which += "; span " + span + " lies inside it";
  }
  subject.dropped = chosen.shown->trace->summary.dropped;
  subject.more = "tprof overview " + directory + ", or advise, stats, steps";
  if (!viewer_page().empty())
    subject.more = "tprof report " + directory + " (a page with all of it), or overview, advise, stats, steps";
  Operators ops = operators(*chosen.model, build_op_tree(*chosen.model), OperatorKey::name);
  return summary_text(facts, advise(facts), ops, subject, text_style(stderr));
}

}  // namespace

bool show_summary(const std::string& directory, const std::vector<NewTrace>& written) {
  std::vector<Candidate> all = candidates(directory, written);
  if (all.empty()) return true;
  u64 events = 0;
  for (const Candidate& candidate : all) events += candidate.trace->summary.written;
  if (events > kMaxEvents) return false;
  print(stderr, compose(directory, all, written.size()), text_style(stderr).color);
  return true;
}

}  // namespace tprof
