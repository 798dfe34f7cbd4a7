// What /proc/<pid>/status says of a signal; false of a process that is gone.
#pragma once

namespace tprof {

bool signal_is_caught(int pid, int signal);  // by a handler of the process's own
bool signal_is_ignored(int pid, int signal);
bool signal_is_blocked(int pid, int signal);  // by its first thread
bool signal_waits(int pid, int signal);       // it was sent to the process, which blocks it

}  // namespace tprof
