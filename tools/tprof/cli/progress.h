// A passing line on stderr, where that is a terminal, for what takes longer than two seconds.
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
  enum class Counts { read, written };  // of this process, in all

  // `all`: bytes that there are, 0 not known. One at a time lives. `after_s`: when it is first shown.
  explicit Progress(const std::string& what, Counts counts = Counts::read, u64 all = 0, double after_s = kAfterS);
  ~Progress();
  Progress(const Progress&) = delete;

  // What is being done from now on: "reading x.pt.trace.json.gz".
  void say(const std::string& what);

  static constexpr double kAfterS = 2, kEveryS = 0.5;

 private:
  void work(double after_s);
  void show();
  void hide();
  static void hide_shown();

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::string what_;
  bool over_ = false, shown_ = false;
  const Counts counts_;
  const u64 all_, before_;
  const double begin_ns_;
  std::thread thread_;
};

// "tprof: reading x, 120 of 350 MB, 12 s"; what is not known is left out.
std::string progress_text(const std::string& what, u64 done, u64 all, double seconds);

// Of all files that are there.
u64 size_of(const std::vector<std::string>& files);

}  // namespace tprof
