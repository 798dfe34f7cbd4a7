// `tprof report`: what the other commands print about a run, in one HTML file.
//
// The page holds the JSON documents of `tprof overview|steps|advise|stats --by WORD|diff --json`, which the same
// functions compute. A section of the page is a row in kSections, or a word of stats_words.h.
#include "report.h"

#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/options.h"
#include "base/plain_file.h"
#include "base/printable.h"
#include "cli/device_peaks.h"
#include "cli/progress.h"
#include "command.h"
#include "diff.h"
#include "exit_codes.h"
#include "input/jobs.h"
#include "kineto/write/output.h"
#include "report/advice.h"
#include "report/diff.h"
#include "report/flame_tables.h"
#include "report/overview.h"
#include "stats_words.h"
#include "timeline_part.h"
#include "viewer/viewer.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;
using Keep = Page::Keep;

struct ReportArguments {
  std::vector<std::string> paths, versus;  // before and after --vs
  std::string out = "report.html", max_size = "64M", devices;
  bool force = false, sizes = false;
};

// One worker and span.
struct Subject {
  Source source;
  const Facts& facts;
  size_t workers;  // number of workers in its run
  Page& page;
};

struct Section {
  const char* word;   // the command that prints the same document with --json
  const char* rules;  // "rules" of the document, or nullptr
  Json (*worker)(const Subject&);
};

constexpr Section kSections[] = {
    {"overview", "tprof", [](const Subject& s) { return overview_json(s.facts.overview, s.source, s.workers); }},
    {"steps", "tprof",
     [](const Subject& s) {
       return steps_json(s.facts.overview, s.source, [&](const Table& table) { return s.page.add(table); });
     }},
    {"advise", nullptr, [](const Subject& s) { return advice_json(s.facts, advise(s.facts), s.source); }},
};

// Words of `tprof stats` with a row for each stack, path or range. They are the first to be left out if the page is too
// large.
const std::set<std::string> kDetails = {"op+stack", "op+shape+stack", "tree", "timeline", "flame"};

u64 bytes_of(const std::string& text) {
  u64 bytes = 0;
  OptionError error;
  if (!parse_bytes(text.c_str(), bytes, error)) throw Error(Fault::usage, "--max-size " + std::string(error.text));
  return bytes;
}

// Refuses to overwrite a file that this command has not written.
void check_target(const ReportArguments& arguments) {
  const std::string& path = arguments.out;
  std::error_code why;
  fs::file_status status = fs::status(path, why);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status))
    throw Error(Fault::usage, path + ": exists and is not a regular file; give another name with -o");
  if (arguments.force) return;
  std::string start(512, '\0');
  int file = open_plain(path.c_str(), O_RDONLY);
  ssize_t bytes = file < 0 ? 0 : read(file, start.data(), start.size());
  if (file >= 0) close(file);
  if (bytes > 0 && start.find(kReportMark) == std::string::npos)
    throw Error(Fault::usage,
                path + ": exists and is not a report of tprof; --force overwrites it, -o gives another name");
}

// Follows the inputs of the command while Inputs::each() reads them and skips those that cannot be read.
class Given {
 public:
  Given(const Inputs& inputs, const std::vector<std::string>& paths)
      : inputs_(inputs), paths_(paths), all_(inputs.all()) {}

  // Called for each input that was read, in order.
  void move_to(const Input& input) {
    while (all_[next_].path != input.path) pass_over();
    at_ = next_++;
  }
  size_t at() const { return at_; }
  // The path that the user typed for the current input.
  const std::string& path() const {
    size_t path = 0;
    while (inputs_.given_by(path + 1) <= at_) path++;
    return paths_[path];
  }
  // The inputs that were skipped, once all are read.
  const std::vector<std::string>& unread() {
    while (next_ < all_.size()) pass_over();
    return unread_;
  }

 private:
  void pass_over() { unread_.push_back(all_[next_++].path); }

  const Inputs& inputs_;
  const std::vector<std::string>& paths_;
  const std::vector<Input> all_;
  std::vector<std::string> unread_;
  size_t next_ = 0, at_ = 0;
};

// A and B, of `A --vs B`.
class Sides {
 public:
  Sides(const std::vector<Input>& all, size_t of_a) : of_a_(of_a) {
    a_.expect({all.begin(), all.begin() + i64(of_a)});
    b_.expect({all.begin() + i64(of_a), all.end()});
  }
  const char* add(const Given& given, const Input& input, const StatsSubject& stats) {
    bool in_a = given.at() < of_a_;
    DiffSideReader& side = in_a ? a_ : b_;
    side.add(given.path(), input, stats.model);
    side.add_flames(given.path(), input, stats);
    return in_a ? "A" : "B";
  }
  Json document(const TableJson& tables, const TableJson& details) {
    Json out = diff_json(diff(a_.finish(), b_.finish()), tables);
    out["flames"] = flame_diffs_json(flame_diffs(a_.flames(), b_.flames()), details);
    return out;
  }

 private:
  const size_t of_a_;
  DiffSideReader a_, b_;
};

class Report {
 public:
  Report(const ReportArguments& arguments, u64 most)
      : arguments_(arguments), most_(most), devices_(device_peaks(arguments.devices)) {
    require_page();
    begin_documents();
  }

  // Returns the exit code.
  int run() {
    check_target(arguments_);
    std::vector<std::string> paths = arguments_.paths;
    paths.insert(paths.end(), arguments_.versus.begin(), arguments_.versus.end());
    Inputs inputs(paths);
    int code = add_workers(inputs, paths);
    if (code != kExitUnreadable) write();
    return code;
  }
  int serve(Inputs& inputs, const std::string& parts, const Page::Put& put) {
    int code = add_workers(inputs, {});
    if (code == kExitUnreadable) return code;
    documents_["report"] = about_;
    page_.serve(documents_, viewer_page(), parts, put);
    return code;
  }
  const std::string& line() const { return line_; }  // says where the page is, once it is written

 private:
  void begin_documents() {
    about_ = {{"schema", 1}, {"tprof", TPROF_VERSION}, {"left_out", Json::array()}, {"of_jobs", Json::array()}};
    for (const Section& section : kSections) {
      Json& head = documents_[section.word] = {{"schema", 1}};
      if (section.rules) head["rules"] = section.rules;
      head["workers"] = Json::array();
    }
    documents_["timeline"] = {{"schema", 1}, {"workers", Json::array()}};
    for (const StatsWord& word : stats_words()) {
      if (!word.in_page) continue;
      documents_["stats"][word.word] = {{"schema", 1},
                                        {"by", word.word},
                                        {"rules", "tprof"},
                                        {"workers", Json::array()}};
      if (word.of_job) about_["of_jobs"].push_back(word.word);
    }
  }

  // `paths`: what the user has typed.
  int add_workers(Inputs& inputs, const std::vector<std::string>& paths) {
    Given given(inputs, paths);
    std::optional<Sides> sides;
    if (!arguments_.versus.empty()) sides.emplace(inputs.all(), inputs.given_by(arguments_.paths.size()));
    inputs_left_ = inputs.all().size();
    Jobs waiting = jobs_of(inputs), jobs;
    std::map<std::string, size_t> workers = workers_of(inputs.all());
    int code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace& trace) {
      Facts facts(model, devices_);
      facts.rank = waiting.facts_of(input);
      StatsSubject stats(model, trace, RuleSet::tprof, 0, devices_, {}, &facts);
      add_worker({source_of(input, model), facts, workers[input.run], page_}, stats);
      jobs.add(input, rank_of(model, input.worker));
      given.move_to(input);
      if (sides) about_["sides"].push_back(sides->add(given, input, stats));
    });
    for (const std::string& path : given.unread()) about_["left_out"].push_back(path + " could not be read");
    if (sides) documents_["diff"] = sides->document(table_json(Keep::always), table_json(Keep::if_it_fits));
    for (const Job& job : waiting.all()) documents_["advise"]["stragglers"].push_back(stragglers_json(job));
    add_jobs(jobs);
    return waiting.code_with_doubts(code);
  }

  // Adds a worker to all documents or to none: an analysis may throw, and a worker must have the same number in all of
  // them.
  void add_worker(const Subject& subject, const StatsSubject& stats) {
    std::vector<std::pair<Json*, Json>> said;
    for (const Section& section : kSections) said.push_back({&documents_[section.word], section.worker(subject)});
    for (const StatsWord& word : stats_words()) {
      if (word.of_job || !word.in_page) continue;
      Json one = answer_json(word, subject.source, word.table(stats));
      Json more = word.json ? word.json(stats, table_json(Keep::if_it_fits)) : Json::object();
      for (auto& [key, value] : more.items())
        one[key] = value.contains("columns") ? std::move(value)
                                             : page_.add(value, Keep::if_it_fits, std::string(word.word) + " " + key);
      said.push_back({&documents_["stats"][word.word], std::move(one)});
    }
    said.push_back({&documents_["timeline"], timeline(subject, stats)});
    for (auto& [document, one] : said) (*document)["workers"].push_back(std::move(one));
    inputs_left_ -= inputs_left_ > 0;
  }

  // Of the room that is left each of the inputs that come may take its part, and a quarter of it is for their tables.
  Json timeline(const Subject& subject, const StatsSubject& stats) {
    u64 used = viewer_page().size() + page_.bytes();
    u64 left = used < most_ ? most_ - used : 0;
    Json out = add_timeline(page_, stats, left / std::max<u64>(inputs_left_, 1) / 4 * 3);
    slices_ += out["slices"].natural();
    for (const Json& sentence : out["left_out"]) {
      std::string of = subject.source.title() + ": " + sentence.text();
      complain(of);
      about_["left_out"].push_back(of);
    }
    return out;
  }

  void add_jobs(Jobs& jobs) {
    jobs.finish();
    for (const Job& job : jobs.all())
      for (const StatsWord& word : stats_words())
        if (word.of_job)
          documents_["stats"][word.word]["workers"].push_back(
              answer_json(word, {job.run, "all ranks", job.span_text()}, word.of_job(job)));
  }

  Json answer_json(const StatsWord& word, const Source& source, StatsAnswer answer) {
    std::string sorted = sort_by_default(word, answer.table);
    Keep keep = kDetails.contains(word.word) ? Keep::if_it_fits : Keep::always;
    return stats_json(source, answer, sorted, table_json(keep));
  }

  TableJson table_json(Keep keep) {
    return [this, keep](const Table& table) { return page_.add(table, keep); };
  }

  void write() {
    Progress progress("writing " + arguments_.out, Progress::Counts::written);
    documents_["report"] = about_;
    std::string too_large = page_.fit(documents_, viewer_page(), most_);
    if (!too_large.empty()) {
      complain(too_large);
      documents_["report"]["left_out"].push_back(too_large);
    }
    std::string html = page_.html(documents_, viewer_page());
    if (html.size() > most_) {
      const char* larger =
          "the page is larger than --max-size although all details are left out; sums are always complete";
      complain(larger);
      documents_["report"]["left_out"].push_back(larger);
      html = page_.html(documents_, viewer_page());
    }
    if (arguments_.sizes)
      print(stdout, text_of(sizes_table(page_.sizes(documents_, viewer_page()), slices_), text_style(stdout)));
    kineto::OutputFile file(arguments_.out, false);
    file.put(html);
    file.finish();
    line_ = "wrote " + fs::absolute(arguments_.out).lexically_normal().string() + " (" + bytes_text(i64(html.size())) +
            "); open it with a browser";
  }

  const ReportArguments& arguments_;
  const u64 most_;  // bytes of the file
  const std::vector<DevicePeak> devices_;
  Page page_;
  Json documents_ = Json::object();
  // About the page itself: what was left out, the words of stats whose workers are jobs, the side of each worker
  // (--vs).
  Json about_;
  std::string line_;
  size_t inputs_left_ = 0;
  u64 slices_ = 0;  // in the page's timelines
};

}  // namespace

void require_page() {
  if (viewer_page().empty())
    throw Error(Fault::usage,
                "this tprof was built without the page: with -Dviewer=off, without npm, or npm could not fetch its "
                "packages; correct that and configure again (meson setup --reconfigure), or use tprof overview and "
                "tprof stats in the terminal");
}

std::string write_report(const std::string& directory, const std::string& out) {
  ReportArguments arguments{.paths = {directory}, .out = out};
  Report report(arguments, bytes_of(arguments.max_size));
  if (report.run() == kExitUnreadable)
    throw Error(Fault::unreadable, directory + ": nothing could be read, so no page was written");
  return report.line();
}

int serve_report(Inputs& inputs, const std::string& parts, const Page::Put& put) {
  ReportArguments arguments;
  return Report(arguments, ~u64(0)).serve(inputs, parts, put);
}

Action declare_report(Arguments& arguments) {
  auto a = std::make_shared<ReportArguments>();
  arguments.value("--output", "-o", "FILE", "name of the page; default: report.html", a->out);
  arguments.value("--max-size", "", "BYTES",
                  "leave out details, the largest first, if the page would be larger; default: 64M", a->max_size);
  arguments.toggle("--force", "", "overwrite a file that is not a report of tprof", a->force);
  arguments.toggle("--sizes", "", "print what takes how much of the page", a->sizes);
  declare_devices(arguments, a->devices);
  arguments.operands("PATH", "traces, recordings or log directories", 1, 0, a->paths);
  arguments.operands_after("--vs", "compare what comes before it (A) with what comes after it (B)", a->versus);
  return [a] {
    Report report(*a, bytes_of(a->max_size));
    int code = report.run();
    if (!report.line().empty()) print(stdout, report.line() + "\n");
    return code;
  };
}

}  // namespace tprof
