#include "run/summary.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "cli/progress.h"
#include "kineto/ledger.h"
#include "kineto/read/directory.h"
#include "kineto/read/read.h"
#include "report/communication.h"
#include "report/summary.h"
#include "run/span_choice.h"
#include "viewer/viewer.h"

namespace tprof {
namespace {

// Reading and analysing take 3 to 4 us per event at 2.5 GHz, so this many take about 2 s.
constexpr u64 kMaxEvents = 500'000;

// Its steps, as analyses take them: a step that holds an evaluation counts only where there is no other.
std::vector<StepTimes> steps_of(const TraceSummary& trace) {
  Model model;
  for (const StepMark& s : trace.steps)
    model.steps.push_back({s.number, StepBy::api, s.begin_ns, s.begin_ns + s.dur_ns, 0, false, s.evaluates, s.cut});
  std::vector<StepTimes> out;
  if (model.steps.empty()) return out;
  for (const StepSpan& span : step_spans(model))
    if (span.counts) out.push_back({span.name, double(span.time.length()) / 1000, {}});
  return out;
}

SpanOfRun span_of(size_t number, const TraceSummary& trace, const kineto::TraceFile& file) {
  SpanOfRun out{number, {file.run, file.worker, file.span}};
  auto stated = [&](const char* key) -> u64 {
    const Json& number = trace.ledger["span"][key];
    return number.is_natural() ? number.natural() : 0;
  };
  out.time.begin_ns = stated("begin_ns");
  out.time.end_ns = out.time.begin_ns + stated("duration_ns");
  Counted counted = kineto::read_counted(trace.ledger);
  out.steps = counted.steps;
  out.before_training = counted.before_training;
  out.events = trace.written;
  out.step_ns = average_of(steps_of(trace)).us * 1000;
  return out;
}

// Without traces of other profilers (the program may use torch.profiler itself), since their number of events is not
// known.
std::vector<SpanOfRun> spans_of(const std::string& directory, const std::vector<NewTrace>& written) {
  std::vector<SpanOfRun> out;
  for (const kineto::TraceFile& file : kineto::list_traces(directory).files)  // of a process in order of time
    for (size_t i = 0; i < written.size(); i++)
      if (written[i].path == file.path && written[i].summary.ledger.is_object())
        out.push_back(span_of(i, written[i].summary, file));
  return out;
}

std::string name_of(const Model& model, const SpanOfRun& span, size_t processes) {
  if (model.rank >= 0 && model.world_size > 0)
    return "rank " + std::to_string(model.rank) + " of " + std::to_string(model.world_size) +
           (model.host.empty() ? "" : " on " + model.host);
  return span.time.worker + ", one of " + std::to_string(processes) + " processes";
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
  void read(const std::vector<SpanOfRun>& all, const std::vector<NewTrace>& written) {
    double longest = -1;
    for (const SpanOfRun& span : all) try {
        Model read = kineto::read_trace(written[span.trace].path);
        if (all.size() > 1) {
          ranks_.push_back(rank_of(read, span.time.worker));
          Windows windows = windows_of(read);
          double step_ns = windows.has_steps ? windows.per_step(windows.steps_ns()) : 0;
          if (step_ns <= longest) continue;
          longest = step_ns;
        }
        keep(span, std::move(read), longest > 0 ? ", the slowest one" : "");
      } catch (const Error& e) {  // a damaged trace; the summary is about the others
        unreadable = e.what();
      }
    keep_ranks(ranks_);
    found_ = distributed(ranks_);
    const Rank* late = waited_for(found_, ranks_);
    for (const SpanOfRun& span : all) try {
        if (!late || late->worker != span.time.worker) continue;
        if (shown != &span) keep(span, kineto::read_trace(written[span.trace].path), "");
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

  const SpanOfRun* shown = nullptr;
  std::optional<Model> model;
  std::string why;         // why this trace of several was chosen
  std::string unreadable;  // what the last trace that could not be read is said to be

 private:
  void keep(const SpanOfRun& span, Model&& read, const char* reason) {
    shown = &span;
    model = std::move(read);
    why = reason;
  }

  std::vector<Rank> ranks_;
  Distributed found_;
};

// What the summary does not cover, and which command does; empty if it covers the run as it should.
std::string covers_text(const Written& written, const SpanChoice& choice) {
  std::string limit = std::to_string(kMaxEvents), out;
  const SpanOfRun& shown = choice.spans[0];
  switch (choice.covers) {
    case Covers::whole: break;
    case Covers::that_fit:
      out = "windows of up to " + std::to_string(kMaxEvents / choice.processes) + " events, since larger ones";
      break;
    case Covers::one_process:
      out = "one process of " + std::to_string(choice.processes) + ", since more than " + limit + " events";
      break;
    case Covers::steps_only:
      out = "nothing but the steps, since the window has " + std::to_string(shown.events) + " events and more than " +
            limit;
      break;
  }
  if (!out.empty()) out += " are not read here";
  if (written.left_out)
    out = "the newest " + std::to_string(written.traces.size()) + " of " +
          std::to_string(written.traces.size() + written.left_out) + " traces" +
          (out.empty() ? ", since older ones are not read here" : ", and of " + out);
  return out.empty() ? "" : "This is of " + out + "; tprof overview " + written.directory + " reads all";
}

SummarySubject subject_of(const Written& written, const SpanChoice& choice, const SpanOfRun& shown,
                          const std::string& which) {
  SummarySubject out;
  out.covers = covers_text(written, choice);
  out.which = which;
  if (written.traces.size() + written.left_out > choice.processes) {
    out.which += (which.empty() ? "span " : ", span ") + shown.time.span;
    if (choice.covers == Covers::whole) out.which += shown.alone_longest ? ", the longest" : ", the last";
    for (const std::string& span : shown.inside) out.which += "; span " + span + " lies inside it";
  }
  out.dropped = written.traces[shown.trace].summary.dropped;
  out.more = "tprof overview " + written.directory + ", or advise, stats, steps";
  if (!viewer_page().empty())
    out.more = "tprof report " + written.directory + " (a page with all of it), or overview, advise, stats, steps";
  return out;
}

std::string compose_of_steps(const Written& written, const SpanChoice& choice) {
  const SpanOfRun& span = choice.spans[0];
  const TraceSummary& trace = written.traces[span.trace].summary;
  StepsSubject steps;
  steps.steps = steps_of(trace);
  steps.all = trace.steps.size();
  steps.span_us = double(span.time.end_ns - span.time.begin_ns) / 1000;
  steps.waited = kineto::read_machine(trace.ledger)[u32(MachineFigure::waited)];
  std::string which = choice.processes > 1 ? span.time.worker + ", one of " + std::to_string(choice.processes) : "";
  if (!trace.head["deviceProperties"].empty()) which += which.empty() ? "on the host" : ", on the host";
  return steps_summary_text(steps, subject_of(written, choice, span, which), text_style(stderr));
}

std::string compose_of_all(const Written& written, const SpanChoice& choice) {
  Subject chosen;
  chosen.read(choice.spans, written.traces);
  if (!chosen.shown) throw Error(Fault::unreadable, chosen.unreadable);
  std::vector<DevicePeak> table = device_table();
  Facts facts(*chosen.model, table);
  facts.rank = chosen.facts();
  std::string which;
  if (choice.processes > 1) which = name_of(*chosen.model, *chosen.shown, choice.processes) + chosen.why;
  SummarySubject subject = subject_of(written, choice, *chosen.shown, which);
  subject.waiting = chosen.waiting();
  Operators ops = operators(*chosen.model, build_op_tree(*chosen.model), OperatorKey::name);
  return summary_text(facts, advise(facts), ops, subject, text_style(stderr));
}

}  // namespace

void show_summary(const Written& written) {
  SpanChoice choice = choose_spans(spans_of(written.directory, written.traces), kMaxEvents);
  if (choice.spans.empty()) throw Error(Fault::unreadable, "what was written is no trace of tprof's own");
  std::vector<std::string> paths;
  for (const SpanOfRun& span : choice.spans) paths.push_back(written.traces[span.trace].path);
  std::string text;
  {
    Progress progress("summing up what was recorded", Progress::Counts::read, size_of(paths));
    text = choice.covers == Covers::steps_only ? compose_of_steps(written, choice) : compose_of_all(written, choice);
  }
  if (text.empty()) throw Error(Fault::unreadable, "the trace holds neither steps nor operators");
  print(stderr, text, text_style(stderr).color);
}

}  // namespace tprof
