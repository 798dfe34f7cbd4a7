// The one way in which tprof writes messages from inside a program: single lines on descriptor 2 that start with
// "tprof: ".
//
// Descriptor 2 is only used while it is still the file it was when the process started: a program that closed
// it may have opened its own data file under that number.
#pragma once

namespace tprof {

// Remembers what descriptor 2 is. Call once, early.
void init_log();

// Call it in a thread that has a descriptor table of its own, without descriptor 2: its lines borrow that of the
// process.
void log_from_apart();

// Formats and writes one line. No malloc; at most 1 KiB. Safe in hooks (not in signal handlers).
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tprof
