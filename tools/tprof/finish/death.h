// By which signal a program died. Its parent knows that for certain: `tprof run` notes it in the recording. Where
// another process is the parent, the kernel tells it only as long as the parent has not asked, or since Linux 6.15.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

// 0: it did not die by a signal, or that is not known. `pidfd`: of that process, or -1; `start_time` as in FileHeader.
int signal_of_death(int pid, u64 start_time, int pidfd);

// Notes in the recording of this process in `directory`, if it left one, by which signal it died.
void note_death(const std::string& directory, int pid, int signal);

}  // namespace tprof
