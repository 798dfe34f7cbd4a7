// Fills Model::loader from the recordings of a program and of its helpers.
#pragma once
#include <memory>
#include <vector>

#include "model/build.h"

namespace tprof {

// Whether a recording is that of a helper process of this program. `created_ns`: of the program's recording.
bool is_helper_of(const FileHeader& helper, u32 pid, u64 created_ns, const std::string& boot_id);

// `helpers`: recordings of helpers of the program `leader`. Those that are no workers of a DataLoader, or have nothing
// of the span, are left out.
void load_loaders(Model& model, Recording& leader, const Meta& meta, const SpanRequest& request,
                  const std::vector<std::unique_ptr<Recording>>& helpers);

}  // namespace tprof
