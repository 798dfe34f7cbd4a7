// What is written when a hang is seen: who is to blame, and the stacks of all threads, a few times.
#pragma once
#include <functional>
#include <string>

#include "analysis/hang/stillness.h"
#include "finish/followed.h"

namespace tprof::hang {

// Looks at the job of this program, or takes the verdict of another of its ranks if that was found since `since_ns`
// (CLOCK_REALTIME): all ranks of a job see a hang at about the same time, and one of them asks `tprof hang`.
struct Judged {
  std::string verdict;  // one word, see verdict.def; "unknown" if the job cannot be looked at
  std::string page;     // as `tprof hang` prints it, or one line of who has it
  bool by_us = false;
  bool goes_on() const { return verdict == "fine"; }
};
Judged judge(const Followed& program, u64 since_ns);

// *.hang1.txt and so on.
bool is_report_name(const std::string& name);

// Writes the file beside the recording, <recording without .tprof>.hang<number>.txt, and returns its path. The stacks
// are of the program and of what it has started, three times, a second apart; `meanwhile` is called before them.
// Throws Error if it cannot be written.
std::string write_report(const Followed& program, const Still& still, const Judged& judged, u32 number,
                         const std::function<void()>& meanwhile);

}  // namespace tprof::hang
