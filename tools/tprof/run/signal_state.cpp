#include "run/signal_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"

namespace tprof {
namespace {

// One bit of a "Sig...:\t<hex>" line.
bool status_bit(int pid, const char* field, int signal) {
  char path[64], text[8192];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (read_small_file(path, text, sizeof text) <= 0) return false;
  const char* line = strstr(text, field);
  return line && (strtoull(line + strlen(field), nullptr, 16) >> (signal - 1) & 1);
}

}  // namespace

bool signal_is_caught(int pid, int signal) { return status_bit(pid, "\nSigCgt:", signal); }
bool signal_is_ignored(int pid, int signal) { return status_bit(pid, "\nSigIgn:", signal); }
bool signal_is_blocked(int pid, int signal) { return status_bit(pid, "\nSigBlk:", signal); }
bool signal_waits(int pid, int signal) { return status_bit(pid, "\nShdPnd:", signal); }

}  // namespace tprof
