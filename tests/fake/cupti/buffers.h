// The client's buffers: asked for when a record has no room, handed back full by a thread of CUPTI's own, or all by
// cuptiActivityFlushAll on the thread that calls it.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "types.h"

namespace sim::cupti {

using BufferRequested = void (*)(u8** buffer, size_t* bytes, size_t* max_records);
using BufferCompleted = void (*)(void* context, u32 stream, u8* buffer, size_t bytes, size_t valid_bytes);

class Buffers {
 public:
  void set_callbacks(BufferRequested requested, BufferCompleted completed);
  bool have_callbacks();
  void put(const void* record, u32 kind, bool of_thread);
  void count_dropped() { dropped_++; }
  size_t take_dropped();
  bool flush();                // false: there was nothing
  void every(void (*work)());  // what CUPTI's thread does besides, every few milliseconds; starts it

 private:
  struct Buffer {
    u8* data = nullptr;
    size_t bytes = 0, used = 0, records = 0, max_records = 0;
  };

  bool request(Buffer*);  // with the lock
  void serve();

  std::mutex mutex_;
  std::condition_variable filled_, drained_;
  BufferRequested requested_ = nullptr;
  BufferCompleted completed_ = nullptr;
  std::map<int, Buffer> open_;  // by thread; 0: the common one
  std::deque<Buffer> full_;
  bool handing_over_ = false, started_ = false;
  void (*work_)() = nullptr;
  size_t dropped_ = 0;
};

}  // namespace sim::cupti
