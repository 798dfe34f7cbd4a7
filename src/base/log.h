// The one way tprof talks from inside a program: single lines on descriptor 2, "tprof: ..." in front.
//
// Descriptor 2 is only used while it is still the file it was when the process started: a program that closed
// it may have opened its own data file under that number.
#pragma once

namespace tprof {

// Remembers what descriptor 2 is. Call once, early.
void init_log();

// The calling thread has a descriptor table of its own from now on, without a 2 in it: its lines borrow the process's.
void log_from_apart();

// Formats and writes one line. No malloc; at most 1 KiB. Safe in hooks (not in signal handlers).
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tprof
