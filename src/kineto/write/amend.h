// A change to a trace that is written already.
#pragma once
#include <string>

namespace tprof::kineto {

// The name that a trace of steps before training gets; the name itself, if it has it already.
std::string before_training_name(const std::string& trace);

// The program turned out to train after this trace of inference was written: its ledger says so, and its name. Nothing
// happens to a file that is gone, is no trace of tprof's, or says so already; false then. Throws Error when the new file
// cannot be written; the old one then stands.
bool mark_before_training(const std::string& trace);

}  // namespace tprof::kineto
