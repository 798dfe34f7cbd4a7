// What `tprof run` prints when its program has ended: the closing line and a summary of half a page (summary.h). With
// --report it writes the page. A child process does this, so that neither a damaged nor a large trace can crash or
// delay the end of the run.
#pragma once
#include "run/closing.h"
#include "run/patience.h"

namespace tprof {

struct Run {
  std::string directory;
  std::set<std::string> before;  // files that were there at the start
  Options options;
  bool unloadable = false;  // the program could not be profiled, which has been printed
  bool quiet = false;       // print nothing
  bool report = false;      // write the page
};

void say_last_word(const Run& run, const Completion& completion, Patience& patience);

}  // namespace tprof
