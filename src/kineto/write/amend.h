// Changes a trace that is already written.
#pragma once
#include <string>

namespace tprof::kineto {

// The name of a trace of steps before training; unchanged if it is such a name already.
std::string before_training_name(const std::string& trace);

// Marks a trace of inference, in its ledger and its name, because the program began to train after it. Returns false,
// and changes nothing, if the file is gone, is no trace of tprof or is marked already. Throws Error if the new file
// cannot be written; the old one then remains.
bool mark_before_training(const std::string& trace);

}  // namespace tprof::kineto
