// What `tprof run` says when its program has ended: the closing line, and half a page of the run (summary.h); with --report
// it writes the page. In a process of its own, so that neither damage nor the size of a trace can harm or delay the end of the run.
#pragma once
#include "run/closing.h"
#include "run/patience.h"

namespace tprof {

struct Run {
  std::string directory;
  std::set<std::string> before;  // files that were there at the start
  Options options;
  bool unloadable = false;  // the program could not be profiled, which has been said
  bool quiet = false;       // nothing is said
  bool report = false;      // the page is written
};

void say_last_word(const Run& run, const Completion& completion, Patience& patience);

}  // namespace tprof
