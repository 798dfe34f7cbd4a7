// `tprof hang`: which rank or thread of a running job holds the others up, as text or as JSON (schema 1: keys are only
// ever added).
#include <signal.h>

#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "hang/page.h"
#include "json/json.h"

namespace tprof {
namespace {

constexpr size_t kDepth = 12;

struct HangArguments {
  std::vector<std::string> subjects;
  std::string dumps, depth;
  bool json = false;
};

int hang_command(const HangArguments& arguments) {
  size_t depth = arguments.depth.empty() ? kDepth : number_of("--depth", arguments.depth);
  signal(SIGPIPE, SIG_IGN);  // tprof-stack may end before us
  hang::Gathered found = hang::gather(arguments.subjects[0], arguments.dumps);
  TextStyle style = text_style(stdout);
  print(stdout, arguments.json ? json_indented(hang::json_of(found)) + "\n" : hang::page_of(found, depth, style),
        style.color);
  switch (hang::means(found.finding.verdict)) {
    case hang::Means::stuck: return kExitFound;
    case hang::Means::slow: return kExitOk;
    case hang::Means::unknown: return kExitPartial;
  }
  return kExitPartial;
}

}  // namespace

Action declare_hang(Arguments& arguments) {
  auto a = std::make_shared<HangArguments>();
  arguments.value(
      "--dumps", "", "PATH",
      "dumps of PyTorch's flight recorder: a directory of them, or one file (those in LOGDIR are read anyway)",
      a->dumps);
  arguments.value("--depth", "", "N", "frames to show of a thread, 0 for all (default 12)", a->depth);
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.operands("PID|LOGDIR", "a process of the job, or the log directory of its run", 1, 1, a->subjects);
  return [a] { return hang_command(*a); };
}

}  // namespace tprof
