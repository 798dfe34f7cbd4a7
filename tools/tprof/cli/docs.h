// What users read about commands and options, printed from the tables of commands and options so that it is written
// only once: help, man pages, tables of the manual (docs.cpp), and completions (completions.cpp).
#pragma once
#include <string>

#include "command.h"

namespace tprof {

std::string overview_text();                    // tprof --help
std::string help_text(const Command& command);  // tprof <command> --help
std::string man_page(const std::string& name);  // "tprof" or "tprof-run", roff
std::string markdown_options();                 // the manual's table of options
std::string markdown_stats();                   // the manual's table of `tprof stats --by`
std::string markdown_tables();                  // the manual's tables of `tprof export --to parquet|sqlite`
std::string recording_formats();                // which formats of recordings are read and written, a sentence each
std::string bash_completion();
std::string zsh_completion();

}  // namespace tprof
