#include "remote/thread_ids.h"

#include <algorithm>

namespace tprof::remote {
namespace {

constexpr u64 kDescriptorBytes = 1024;

}  // namespace

int ThreadIds::of(u64 pthread, const std::vector<int>& tids) {
  auto is_thread = [&](int tid) { return std::binary_search(tids.begin(), tids.end(), tid); };
  if (!pthread) return 0;
  if (offset_) return memory_.get<i32>(pthread + offset_).value_or(0);
  for (u64 offset = 4; offset < kDescriptorBytes; offset += 4)
    if (i32 tid = memory_.get<i32>(pthread + offset).value_or(0); tid > 0 && is_thread(tid)) {
      offset_ = offset;
      return tid;
    }
  return 0;
}

}  // namespace tprof::remote
