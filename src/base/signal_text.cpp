#include "base/signal_text.h"

#include <signal.h>

namespace tprof {
namespace {

enum Kind { told, fault };
constexpr struct {
  int number;
  const char* name;
  Kind kind;
  const char* meaning;
} kSignals[] = {
#define SIGNAL(name, kind, meaning) {name, #name, kind, meaning},
#include "base/signals.def"
#undef SIGNAL
};

}  // namespace

std::string signal_text(int signal) {
  for (const auto& s : kSignals)
    if (s.number == signal) return std::string(s.name) + " (" + s.meaning + ")";
  return "signal " + std::to_string(signal);
}

bool is_fault(int signal) {
  for (const auto& s : kSignals)
    if (s.number == signal) return s.kind == fault;
  return false;
}

}  // namespace tprof
