#include "cli/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/display_width.h"
#include "base/printable.h"

namespace tprof {
namespace {

std::atomic<Progress*> g_progress = nullptr;
std::string g_hint;

double now_ns() { return static_cast<double>(clock_ns(CLOCK_MONOTONIC)); }

// What the process has read or written by system calls so far; 0 if the kernel does not count.
u64 bytes_so_far(Progress::Counts counts) {
  std::ifstream file("/proc/self/io");
  const std::string wanted = counts == Progress::Counts::read ? "rchar:" : "wchar:";
  u64 bytes = 0;
  for (std::string key; file >> key >> bytes;)
    if (key == wanted) return bytes;
  return 0;
}

}  // namespace

std::string progress_text(std::string what, u64 done, u64 all, double seconds, size_t columns,
                          const std::string& hint) {
  constexpr double kMega = 1e6;
  char amount[64] = "", time[32];
  if (all)
    snprintf(amount, sizeof amount, ", %.0f of %.0f MB", double(std::min(done, all)) / kMega, double(all) / kMega);
  else if (done)
    snprintf(amount, sizeof amount, ", %.0f MB", double(done) / kMega);
  snprintf(time, sizeof time, ", %.0f s", seconds);
  what = "tprof: " + what;
  std::string figures = std::string(amount) + time + hint;
  constexpr std::string_view kDots = "...";
  // The last column stays free: where the cursor goes beyond it differs between terminals.
  if (columns && display_width(what) + figures.size() >= columns) {
    size_t taken = figures.size() + kDots.size() + 1;
    what = cut_to_width(what, columns > taken ? columns - taken : 0).append(kDots);
  }
  return what + figures;
}

u64 size_of(const std::vector<std::string>& files) {
  u64 sum = 0;
  for (const std::string& file : files) {
    std::error_code why;
    u64 bytes = std::filesystem::file_size(file, why);
    if (!why) sum += bytes;
  }
  return sum;
}

void Progress::show_hint(std::string hint) { g_hint = std::move(hint); }

Progress::Progress(const std::string& what, Counts counts, u64 all, double after_s)
    : what_(what), counts_(counts), all_(all), before_(bytes_so_far(counts)), begin_ns_(now_ns()) {
  if (!isatty(STDERR_FILENO)) return;
  g_progress = this;
  before_print(hide_shown);
  try {
    thread_ = std::thread([this, after_s] { work(after_s); });
  } catch (const std::system_error&) {  // the system allows no more threads, so nothing is shown
  }
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (g_progress != this) return;
  before_print(nullptr);
  g_progress = nullptr;
}

void Progress::say(const std::string& what) {
  std::lock_guard lock(mutex_);
  what_ = what;
}

void Progress::work(double after_s) {
  std::unique_lock lock(mutex_);
  for (double wait_s = after_s;
       !changed_.wait_for(lock, std::chrono::duration<double>(wait_s), [this] { return over_; }); wait_s = kEveryS)
    show();
  hide();
}

void Progress::show() {
  u64 done = bytes_so_far(counts_) - before_;
  winsize size{};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  std::string text =
      progress_text(printable(what_), done, all_, (now_ns() - begin_ns_) / 1e9, known ? size.ws_col : 0, g_hint);
  fputs(("\r" + text + "\033[K").c_str(), stderr);
  fflush(stderr);
  shown_ = true;
}

void Progress::hide() {
  if (!shown_) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  shown_ = false;
}

void Progress::hide_shown() {
  Progress* progress = g_progress;
  if (!progress) return;
  std::lock_guard lock(progress->mutex_);
  progress->hide();
}

}  // namespace tprof
