// What is written when a hang is seen: who is to blame, and the stacks of all threads, a few times.
#pragma once
#include <string>

#include "analysis/hang/stillness.h"
#include "finish/followed.h"

namespace tprof::hang {

// Looks at the job of this program. All ranks of a job see a hang at about the same time: of those that share a log
// directory, one asks `tprof hang`, and the others take its verdict if it was found since `since_ns` (CLOCK_REALTIME).
struct Judged {
  std::string verdict;  // one word, see verdict.def; "unknown" if the job cannot be looked at
  std::string page;     // as `tprof hang` prints it, or one line of who has it
  bool by_us = false;   // this hang of the job was not judged before
  // Not if all goes on, nor if this program waits for one that is at work.
  bool hangs = true;
};
Judged judge(const Followed& program, bool is_rank, u64 since_ns);

// *.hang1.txt and so on.
bool is_report_name(const std::string& name);

// The file beside the recording, <recording without .tprof>.hang<number>.txt. It is made anew, and left alone from the
// moment on that something else stands in its place, or that it is gone. Nothing is thrown if it cannot be made.
class Report {
 public:
  Report(const Followed& program, u32 number);
  ~Report();
  Report(const Report&) = delete;

  const std::string& path() const { return path_; }
  // The stacks are of the program and of what it has started, three times, a second apart.
  void write(const Still& still, const Judged& judged);
  void add(const std::string& text);

 private:
  void add_head(const Still& still, const Judged& judged);
  void add_stacks(int time);

  const Followed& program_;
  std::string path_;
  int fd_ = -1;  // -1: nothing is written any more
};

}  // namespace tprof::hang
