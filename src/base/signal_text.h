// Signals as a user knows them.
#pragma once
#include <string>

namespace tprof {

// "SIGSEGV (segmentation fault)"; "signal 40" if it has no name.
std::string signal_text(int signal);

// Whether it says that the program went wrong, and not that somebody wanted it to end.
bool is_fault(int signal);

}  // namespace tprof
