// Starts `tprof finish`, the process that turns this process's recording into traces (see architecture in
// src/README.md). It must be invisible to the program: no child for waitpid(-1), no descriptor, no signal.
#pragma once

namespace tprof {

// Finds the tprof binary next to this library and keeps the environment for it (without LD_PRELOAD). Call while
// nobody can change the environment.
void finisher_prepare();

// Starts the finisher unless it runs, or must wait for the exit (a process that orphans come to - PID 1, or a
// child subreaper - would see it). For the helper thread. `exists` is called as soon as the process is there, in that
// process but on this one's memory: raw system calls only. `is_read`: children of the finisher read this process.
// False: it does not run.
bool finisher_start_early(void (*exists)(), bool is_read);

// At a normal exit: starts it if it is not running.
void finisher_start();
// Waits until all windows are written, at most `seconds`. Returns false if there is no finisher or it did not manage.
bool finisher_wait(double seconds);

// In a forked child.
void finisher_forget();

}  // namespace tprof
