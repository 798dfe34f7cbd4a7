// `tprof top`: what a program that is being recorded does now, in the terminal, or once as text or JSON. It reads
// recordings and samples; the program is not touched.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "json/json.h"
#include "top/job.h"
#include "top/json.h"
#include "top/page.h"
#include "top/screen.h"

namespace tprof {
namespace {

// Between two looks it is seen so often whether a window has begun or ended: what a short window holds may be written
// and given back before the next look.
constexpr int kWatch_ms = 50;
constexpr size_t kMostRows = 100;  // of operators and of lines
constexpr double kNsPerSecond = 1e9;

struct TopArguments {
  std::vector<std::string> subjects;
  std::string interval, duration;
  bool once = false, json = false;
};

double seconds_of(const char* flag, const std::string& text, double least) {
  char* end = nullptr;
  double value = strtod(text.c_str(), &end);
  constexpr double kMost = 1e6;
  if (end == text.c_str() || *end || !(value >= least && value <= kMost))
    throw Error(Fault::usage, std::string(flag) + " '" + text + "' is not a number of seconds");
  return value;
}

std::string time_now() {
  char text[16];
  time_t now = time(nullptr);
  tm local;
  strftime(text, sizeof text, "%H:%M:%S", localtime_r(&now, &local));
  return text;
}

u64 now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// Watches for as long as asked, and prints what there is to see then.
int print_once(WatchedJob& job, const TopArguments& arguments, double interval_s, double for_s) {
  u64 end = now_ns() + u64((for_s > 0 ? for_s : interval_s) * kNsPerSecond), next = 0;
  while (now_ns() < end) {
    if (now_ns() >= next) {
      job.look();
      next = now_ns() + u64(interval_s * kNsPerSecond);
    } else {
      job.look_at_changes();
    }
    timespec pause{0, kWatch_ms * 1'000'000L};
    nanosleep(&pause, nullptr);
  }
  job.look();
  std::vector<live::ProgramView> views = job.views(kMostRows, kMostRows);
  if (arguments.json) {
    print(stdout, json_indented(top_json(views, job.waits())) + "\n");
    return kExitOk;
  }
  TextStyle text = text_style(stdout);
  PageStyle style;
  style.columns = text.width > 0 ? size_t(text.width) : 80;
  style.utf8 = text.utf8;
  style.time = time_now();
  style.waits = job.waits();
  for (size_t i = 0; i < views.size(); i++)
    if (views[i].slow) style.chosen = i;
  for (const PageLine& line : page_of(views, style)) {
    std::string trimmed = line.text.substr(0, line.text.find_last_not_of(' ') + 1);
    print(stdout, trimmed + "\n");
  }
  return kExitOk;
}

// What keys have set.
struct Choices {
  OperatorOrder order = OperatorOrder::self;
  bool paused = false, quits = false;
  size_t chosen = 0;
};

void obey(char key, size_t programs, Choices& choices) {
  switch (key) {
    case 'q':
    case 'Q': choices.quits = true; break;
    case 's': choices.order = OperatorOrder::self; break;
    case 't': choices.order = OperatorOrder::total; break;
    case 'c': choices.order = OperatorOrder::calls; break;
    case ' ':
    case 'p': choices.paused = !choices.paused; break;
    case 'n': choices.chosen = programs ? (choices.chosen + 1) % programs : 0; break;
    default: break;
  }
}

int watch(WatchedJob& job, double interval_s, double for_s) {
  TextStyle text = text_style(stdout);
  Screen screen(text.color);
  u64 end = for_s > 0 ? now_ns() + u64(for_s * kNsPerSecond) : ~u64(0), next = 0;
  std::vector<live::ProgramView> views;
  Choices choices;
  std::string seen_at;
  while (!choices.quits && now_ns() < end) {
    if (now_ns() >= next) {
      job.look();
      next = now_ns() + u64(interval_s * kNsPerSecond);
      if (!choices.paused) {
        size_t rows = std::min(screen.rows(), kMostRows);
        views = job.views(rows, rows);
        seen_at = time_now();
      }
    } else {
      job.look_at_changes();
    }
    PageStyle style;
    style.columns = screen.columns();
    style.rows = screen.rows();
    style.utf8 = text.utf8;
    style.keys = true;
    style.paused = choices.paused;
    style.order = choices.order;
    style.chosen = choices.chosen;
    style.time = seen_at;
    style.waits = job.waits();
    if (!screen.draw(page_of(views, style))) return kExitOk;  // the terminal was closed
    for (char key : screen.wait(kWatch_ms)) obey(key, views.size(), choices);
  }
  return kExitOk;
}

int top(const TopArguments& arguments) {
  constexpr double kLeastInterval = 0.1;
  double interval_s = arguments.interval.empty() ? 1 : seconds_of("--interval", arguments.interval, kLeastInterval);
  double for_s = arguments.duration.empty() ? 0 : seconds_of("--for", arguments.duration, 0);
  const char* terminal = getenv("TERM");
  bool screen = isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
  WatchedJob job(arguments.subjects[0]);
  if (arguments.once || arguments.json || !screen) return print_once(job, arguments, interval_s, for_s);
  return watch(job, interval_s, for_s);
}

}  // namespace

Action declare_top(Arguments& arguments) {
  auto a = std::make_shared<TopArguments>();
  arguments.value("--interval", "", "S", "seconds from one look to the next (default 1)", a->interval);
  arguments.value("--for", "", "S", "end after so many seconds; with --once: watch so long before printing",
                  a->duration);
  arguments.toggle("--once", "", "print one page and end; so it is where standard output is no terminal", a->once);
  arguments.toggle("--json", "", "print one page as JSON (schema 1: keys are only ever added) and end", a->json);
  arguments.operands("PID|LOGDIR", "a program, with those that it has started, or the log directory of a run", 1, 1,
                     a->subjects);
  return [a] { return top(*a); };
}

}  // namespace tprof
