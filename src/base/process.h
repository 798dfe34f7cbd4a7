// The identity of a process, which survives the reuse of its pid: pid, start time and boot.
#pragma once
#include "base/types.h"

namespace tprof {

struct ProcessIdentity {
  u64 start_time = 0;     // field 22 of /proc/<pid>/stat, 0 when there is no such process (or it is a zombie)
  char boot_id[40] = {};  // /proc/sys/kernel/random/boot_id
};

// No malloc; a few syscalls.
ProcessIdentity process_identity(int pid);

// Reads a small file into a NUL-terminated buffer; returns the bytes read or -1. No malloc.
int read_small_file(const char* path, char* buffer, int size);

}  // namespace tprof
