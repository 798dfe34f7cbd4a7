// The buffers that CUPTI fills: pooled, allocated ahead, reused. CUPTI requests them on the program's threads.
//
// A buffer that CUPTI keeps may hold records of unfinished GPU work. The first word of a buffer shows whether it holds
// any record: it is the kind of the first record, and 0 as long as there is none.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

class BufferPool {
 public:
  // Allocates the first few, so that a launch seldom has to.
  void prepare();
  // A buffer for CUPTI. When no more can be allocated, one whose content is discarded (see is_scrap): older versions of
  // CUPTI crash on a null pointer.
  u8* take(size_t* bytes, u64 now_ns);
  void give_back(u8* buffer);
  bool is_scrap(const u8* buffer) const;
  // Whether CUPTI keeps a buffer that it got before `ns` and has written to.
  bool holds_content_from_before(u64 ns) const;

 private:
  static constexpr size_t kBufferBytes = 1 << 20;
  static constexpr u32 kFirst = 4, kMaxBuffers = 256;
  struct Buffer {
    std::atomic<u8*> at;
    std::atomic<u64> taken_ns;  // 0: CUPTI does not have it
  };
  bool add();

  Buffer buffers_[kMaxBuffers] = {};
  std::atomic<u32> count_{0};
};

}  // namespace tprof
