// Which rank a process is, as its recording shows it.
#pragma once
#include "base/job.h"
#include "record/reader.h"

namespace tprof {

// What torch.distributed said, or else the launcher. Processes that help a rank (loader workers) have none.
JobPlace place_of(const FileHeader& header, const Meta& meta);

}  // namespace tprof
