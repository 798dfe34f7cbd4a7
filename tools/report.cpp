// `tprof report`: everything the other commands say of a run, in one HTML file.
//
// The documents in it are those of `tprof overview|steps|advise|stats --by WORD|diff --json`, and their figures are taken
// from the same functions: a section of the page is a row in kSections, or a word of stats_words.h.
#include <stdio.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/options.h"
#include "base/printable.h"
#include "command.h"
#include "device_peaks.h"
#include "diff.h"
#include "jobs.h"
#include "kineto/output.h"
#include "report/advice.h"
#include "report/diff.h"
#include "report/overview.h"
#include "report/page.h"
#include "stats_words.h"
#include "viewer/viewer.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;
using Keep = Page::Keep;

struct ReportArguments {
  std::vector<std::string> paths, behind;  // behind --vs
  std::string out = "report.html", max_size = "64M", devices;
  bool force = false;
};

// One worker and span.
struct Subject {
  const Source& source;
  const Facts& facts;
  size_t workers;  // of its run
  Page& page;
};

struct Section {
  const char* word;  // the command whose --json it is
  const char* rules; // that it names
  Json (*worker)(const Subject&);
};

constexpr Section kSections[] = {
    {"overview", "tprof",
     [](const Subject& s) { return overview_json(s.facts.overview, s.source, s.workers); }},
    {"steps", "tprof",
     [](const Subject& s) {
       return steps_json(s.facts.overview, s.source, [&](const Table& table) { return s.page.add(table); });
     }},
    {"advise", nullptr, [](const Subject& s) { return advice_json(s.facts, advise(s.facts), s.source); }},
};

// Words of `tprof stats` with a row for single stacks: the first to be left out of a page that gets too large.
const std::set<std::string> kDetails = {"op+stack", "op+shape+stack", "tree", "timeline"};

u64 bytes_of(const std::string& text) {
  u64 bytes = 0;
  OptionError error;
  if (!parse_bytes(text.c_str(), bytes, error))
    throw Error(kExitUsage, "--max-size " + std::string(error.text));
  return bytes;
}

// Only what was written by this command before is written anew.
void check_target(const ReportArguments& arguments) {
  const std::string& path = arguments.out;
  std::error_code why;
  fs::file_status status = fs::status(path, why);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status)) throw Error(kExitUsage, path + ": is there and is no file; give another name with -o");
  if (arguments.force) return;
  std::string begin(512, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (file.gcount() > 0 && begin.find(kReportMark) == std::string::npos)
    throw Error(kExitUsage, path + ": is there and is no report of tprof; --force overwrites it, -o gives another name");
}

class Report {
 public:
  explicit Report(const ReportArguments& arguments)
      : arguments_(arguments), most_(bytes_of(arguments.max_size)), devices_(device_peaks(arguments.devices)) {}

  int run() {
    if (viewer_page().empty())
      throw Error(kExitUsage, "this tprof was built without the page (-Dviewer=off); the figures: tprof overview, stats");
    check_target(arguments_);
    std::vector<std::string> paths = arguments_.paths;
    paths.insert(paths.end(), arguments_.behind.begin(), arguments_.behind.end());
    begin_documents();
    int code = add_workers(paths);
    if (code == kExitUnreadable) return code;
    if (!arguments_.behind.empty()) add_diff(code);
    write();
    return code;
  }

 private:
  void begin_documents() {
    about_ = {{"schema", 1}, {"tprof", TPROF_VERSION}, {"left_out", Json::array()}, {"of_jobs", Json::array()}};
    for (const Section& section : kSections) {
      Json& head = documents_[section.word] = {{"schema", 1}};
      if (section.rules) head["rules"] = section.rules;
      head["workers"] = Json::array();
    }
    for (const StatsWord& word : stats_words()) {
      documents_["stats"][word.word] = {
          {"schema", 1}, {"by", word.word}, {"rules", "tprof"}, {"workers", Json::array()}};
      if (word.of_job) about_["of_jobs"].push_back(word.word);
    }
  }

  int add_workers(const std::vector<std::string>& paths) {
    Inputs inputs(paths);
    const std::vector<Input> given = inputs.all();
    const size_t of_a = inputs.given_by(arguments_.paths.size());
    size_t next = 0;  // in `given`
    Jobs waiting = jobs_of(inputs), all_jobs;
    std::map<std::string, size_t> workers = workers_of(inputs.all());
    int code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace& trace) {
      all_jobs.add(input, rank_of(model, input.worker));
      Facts facts(model, devices_);
      facts.rank = waiting.facts_of(input);
      StatsSubject stats(model, trace, Rules::tprof, 0, devices_, &facts);
      add_worker({source_of(input, model), facts, workers[input.run], page_}, stats);
      for (; given[next].path != input.path; next++) say_unread(given[next]);
      if (!arguments_.behind.empty()) about_["sides"].push_back(next < of_a ? "A" : "B");
      next++;
    });
    for (; next < given.size(); next++) say_unread(given[next]);
    all_jobs.finish();
    for (const Job& job : waiting.all()) documents_["advise"]["stragglers"].push_back(stragglers_json(job));
    for (const Job& job : all_jobs.all())
      for (const StatsWord& word : stats_words())
        if (word.of_job) add_answer(word, {job.run, "all ranks", job.span_text()}, word.of_job(job));
    return code;
  }

  void say_unread(const Input& input) { about_["left_out"].push_back(input.path + " could not be read"); }

  void add_worker(const Subject& subject, const StatsSubject& stats) {
    for (const Section& section : kSections) documents_[section.word]["workers"].push_back(section.worker(subject));
    for (const StatsWord& word : stats_words()) {
      if (word.of_job) continue;
      Json& said = add_answer(word, subject.source, word.table(stats));
      if (!word.json) continue;
      Json more = word.json(stats, [&](const Table& table) { return page_.add(table, Keep::if_it_fits); });
      for (auto& [key, value] : more.items())
        said[key] = value.contains("columns") ? std::move(value) : page_.add(value, Keep::if_it_fits);
    }
  }

  Json& add_answer(const StatsWord& word, const Source& source, StatsAnswer answer) {
    std::string sorted = sort_by_default(word, answer.table);
    Keep keep = kDetails.contains(word.word) ? Keep::if_it_fits : Keep::always;
    Json& workers = documents_["stats"][word.word]["workers"];
    workers.push_back(stats_json(source, answer, sorted, [&](const Table& table) { return page_.add(table, keep); }));
    return workers.back();
  }

  void add_diff(int& code) {
    int read = kExitOk;
    documents_["diff"] = diff_json(diff_of(arguments_.paths, arguments_.behind, read));
    code = std::max(code, read);
  }

  void write() {
    documents_["report"] = about_;
    std::string too_large = page_.fit(documents_, viewer_page(), most_);
    if (!too_large.empty()) {
      complain(too_large);
      documents_["report"]["left_out"].push_back(too_large);
    }
    std::string html = page_.html(documents_, viewer_page());
    if (html.size() > most_)
      complain("the page is larger than --max-size although all details were left out");
    kineto::OutputFile file(arguments_.out, false);
    file.put(html);
    file.finish();
    print(stdout, "wrote " + fs::absolute(arguments_.out).lexically_normal().string() + " (" +
                      bytes_text(i64(html.size())) + "); open it with a browser\n");
  }

  const ReportArguments& arguments_;
  const u64 most_;
  const std::vector<DevicePeak> devices_;
  Page page_;
  Json documents_ = Json::object();
  // Of the page itself: what was left out, words of stats whose workers are jobs, each worker's side (with --vs).
  Json about_;
};

}  // namespace

Action declare_report(Arguments& arguments) {
  auto a = std::make_shared<ReportArguments>();
  arguments.value("--output", "-o", "FILE", "the page; default report.html", a->out);
  arguments.value("--max-size", "", "BYTES",
                  "leave out details, the largest first, where the page would be larger: 64M unless said", a->max_size);
  arguments.toggle("--force", "", "overwrite a file that is no report of tprof", a->force);
  declare_devices(arguments, a->devices);
  arguments.operands("PATH", "traces, recordings or log directories", 1, 0, a->paths);
  arguments.operands_behind("--vs", "compare what comes before it (A) with what comes behind it (B)", a->behind);
  return [a] { return Report(*a).run(); };
}

}  // namespace tprof
