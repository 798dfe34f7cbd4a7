#include "model/death.h"

#include "base/signal_text.h"

namespace tprof {

std::string killed_text(int signal) { return "killed by " + signal_text(signal); }

std::string death_text(const Model& model) {
  if (!model.process_ended_inside) return "";
  if (!model.killed_by) return std::string("the program died ") + kUnknownDeath;
  return "the program was " + killed_text(model.killed_by);
}

bool died_in_first_step(const Model& model) {
  if (!model.process_ended_inside) return false;
  return model.steps.size() == 1 || (model.steps.empty() && is_fault(model.killed_by));
}

}  // namespace tprof
