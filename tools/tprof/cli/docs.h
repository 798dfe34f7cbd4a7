// Everything users read about commands and options, printed from the tables: --help, man pages, the manual's
// options table, completions. Nothing of it is written twice.
#pragma once
#include <string>

#include "command.h"

namespace tprof {

std::string overview_text();                    // tprof --help
std::string help_text(const Command& command);  // tprof <command> --help
std::string man_page(const std::string& name);  // "tprof" or "tprof-run", roff
std::string markdown_options();                 // the manual's table of options
std::string markdown_stats();                   // likewise: the words of `tprof stats --by`
std::string bash_completion();
std::string zsh_completion();

}  // namespace tprof
