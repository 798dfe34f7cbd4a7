// What a process gives up before it works on bytes that others chose. Nothing of it can be got back. These are plain
// system calls about the calling thread, which may also be made between vfork and exec; of a process that has other
// threads, limits alone may be lowered.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include "base/types.h"

namespace tprof {

// Lowers a limit (RLIMIT_AS and the like), soft and hard. One that is lower already stays.
void lower_limit(int resource, u64 most);

struct Bounds {
  u64 memory = 0;  // bytes of address space
  u64 cpu_s = 0;   // of processor time in all; 0: as before
};

// No more than this, no core file, no rights from what is started, no terminal.
void confine(const Bounds& bounds);

struct User {
  uid_t uid;
  gid_t gid;
};
constexpr User kNobody{65534, 65534};

// Becomes a user with one group. Capabilities stay permitted, but none stays effective. False: not allowed, or there is
// no such user in this user namespace.
bool become(User user);

// Sets of capabilities have one bit each: 1 << CAP_SYS_PTRACE.
u64 permitted_capabilities();
// Those alone stay; of them `effective` are in use.
void keep_capabilities(u64 permitted, u64 effective);

// Root becomes nobody, if it may, and no capability stays.
void become_harmless();

}  // namespace tprof
