// A line on stderr, if that is a terminal, that shows the progress of whatever takes longer than two seconds. It is
// erased at the end.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/types.h"

namespace tprof {

class Progress {
 public:
  enum class Counts { read, written };  // bytes that the process reads or writes

  // `all`: the number of bytes in total, 0 if it is not known. `after_s`: when the line is first shown. There must be
  // only one Progress at a time.
  explicit Progress(const std::string& what, Counts counts = Counts::read, u64 all = 0, double after_s = kAfterS);
  ~Progress();
  Progress(const Progress&) = delete;

  // Replaces what is being done: "reading x.pt.trace.json.gz".
  void say(const std::string& what);

  // What follows the figures from now on: " (Ctrl-C: no page)". To be called before there is one.
  static void show_hint(std::string hint);

  static constexpr double kAfterS = 2, kEveryS = 0.5;

 private:
  void work(double after_s);
  void show();
  void hide();
  static void hide_shown();

  std::mutex mutex_;  // guards the members up to shown_
  std::condition_variable changed_;
  std::string what_;
  bool over_ = false, shown_ = false;
  const Counts counts_;
  const u64 all_, before_;
  const double begin_ns_;
  std::thread thread_;
};

// "tprof: reading x, 120 of 350 MB, 12 s", without what is not known. `columns` (0: any number): `what` is cut so that
// it is shorter, for a line that wraps could not be erased. `hint`: what follows.
std::string progress_text(std::string what, u64 done, u64 all, double seconds, size_t columns = 0,
                          const std::string& hint = "");

// The size of all files together; missing ones are skipped.
u64 size_of(const std::vector<std::string>& files);

}  // namespace tprof
