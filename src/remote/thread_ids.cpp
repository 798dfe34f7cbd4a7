#include "remote/thread_ids.h"

#include <algorithm>

namespace tprof::remote {
namespace {

constexpr u64 kDescriptorBytes = 1024;
constexpr size_t kMaxFailed = 1000;  // searches; a thread that has just ended is not found

}  // namespace

// In glibc's descriptor the list of robust mutexes follows, which points at itself while it is empty. Any number may
// look like an id, above all in a container, where ids are small.
u64 ThreadIds::offset_in(u64 pthread, const std::function<bool(int)>& is_thread) const {
  auto id_at = [&](u64 offset) { return memory_.get<i32>(pthread + offset).value_or(0); };
  for (u64 offset = 8; offset < kDescriptorBytes; offset += 8) {
    u64 list = pthread + offset + 16;
    if (memory_.get<u64>(list) == list && memory_.get<u64>(list - 8) == list && is_thread(id_at(offset))) return offset;
  }
  for (u64 offset = 4; offset < kDescriptorBytes; offset += 4)
    if (is_thread(id_at(offset))) return offset;
  return 0;
}

int ThreadIds::of(u64 pthread, const std::vector<int>& tids) {
  auto is_thread = [&](int tid) { return std::binary_search(tids.begin(), tids.end(), tid); };
  if (!pthread || failed_ > kMaxFailed) return 0;
  if (!offset_) offset_ = offset_in(pthread, is_thread);
  if (!offset_) return failed_++, 0;
  return memory_.get<i32>(pthread + offset_).value_or(0);
}

}  // namespace tprof::remote
