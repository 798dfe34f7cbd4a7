// A subcommand of tprof: a row of the table in tprof.cpp and a declare function.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/args.h"

namespace tprof {

using Action = std::function<int()>;

struct Command {
  const char* name;
  const char* help;               // one line
  const char* more;               // what the long help adds, plain text, may be ""
  const char* exit_status;        // what its exit codes mean: "0 success, 2 ..."
  bool hidden;                    // not for users; left out of help, man page and completions
  Action (*declare)(Arguments&);  // adds flags and operands; the action runs after parsing, returns the exit code
};

// tprof.cpp
extern const std::vector<Command> kCommands;

// One line on stderr, "tprof: " in front.
void complain(const std::string& line);

Action declare_run(Arguments&);
Action declare_convert(Arguments&);
Action declare_info(Arguments&);
Action declare_check(Arguments&);
Action declare_overview(Arguments&);
Action declare_advise(Arguments&);
Action declare_diff(Arguments&);
Action declare_steps(Arguments&);
Action declare_report(Arguments&);
Action declare_export(Arguments&);
Action declare_merge(Arguments&);
Action declare_trigger(Arguments&);
Action declare_doctor(Arguments&);
Action declare_stack(Arguments&);
Action declare_hang(Arguments&);
Action declare_top(Arguments&);
Action declare_stats(Arguments&);
Action declare_finish(Arguments&);
Action declare_sample(Arguments&);
Action declare_watch(Arguments&);
Action declare_view(Arguments&);
Action declare_page(Arguments&);
Action declare_options(Arguments&);

}  // namespace tprof
