// The only walk over the loader's list of what is mapped. It holds a lock of the loader's, and a child that is forked
// in the middle of it waits for that lock at its next dlopen() for ever, since glibc does not free it there. So a fork
// waits for walks in progress, and walks that would begin while a fork goes on wait for that. Both wait for a limited
// time: either thread may hold a lock of the program's that the other one waits for.
#pragma once
#include <link.h>

namespace tprof {

// dl_iterate_phdr(). `see` does nothing that takes long: no system call, nothing is written to a file.
int walk_loaded(int (*see)(dl_phdr_info*, size_t, void*), void* arg);

// Before a fork, after it in the parent, and in the child.
void hold_walks();
void release_walks();
void forget_walks();

}  // namespace tprof
