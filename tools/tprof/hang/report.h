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

// Writes the file beside the recording, <recording without .tprof>.hang<number>.txt, and returns its path, also if it
// cannot be written. The stacks are of the program and of what it has started, three times, a second apart.
std::string write_report(const Followed& program, const Still& still, const Judged& judged, u32 number);

// Appends to such a file.
void add_to_report(const std::string& path, const std::string& text);

}  // namespace tprof::hang
