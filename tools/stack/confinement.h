// What tprof-stack gives up before it parses anything that another program has in its memory, or a core file holds: the
// tables by which stacks are unwound, and their registers.
//
// For root it becomes the program's user and keeps at most the program's capabilities; for a program of root it becomes
// nobody. If the program cannot be read like that, it keeps what reading takes instead: CAP_SYS_PTRACE, and
// CAP_DAC_READ_SEARCH for files in /proc that only the program's user may open. For a core file it is nobody with the
// latter alone. Where there is no other user to become, as for root in a user namespace that has no more than one, and
// where root lacks CAP_SYS_PTRACE, as in many containers, it stays the same user and gives up capabilities alone.
#pragma once
#include "remote/process.h"

namespace tprof {

void confine_for(const remote::Process& process);
void confine_for_core(const char* path);

// Of each request, the processor time is limited: at the limit the kernel ends this process.
void begin_request();

}  // namespace tprof
