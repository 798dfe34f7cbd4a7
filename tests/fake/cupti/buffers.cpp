#include "buffers.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "generation.h"
#include "switches.h"

namespace sim::cupti {
namespace {

void pause_before_delivery() {
  u64 wait = number_of(Switch::SIMCUPTI_SLOW_NS);
  if (wait == 0 || syscall(SYS_gettid) == getpid()) return;
  timespec time{time_t(wait / 1000000000), long(wait % 1000000000)};
  nanosleep(&time, nullptr);
}

}  // namespace

void Buffers::set_callbacks(BufferRequested requested, BufferCompleted completed) {
  std::lock_guard guard(mutex_);
  requested_ = requested;
  completed_ = completed;
}

bool Buffers::have_callbacks() {
  std::lock_guard guard(mutex_);
  return completed_ != nullptr;
}

bool Buffers::request(Buffer* buffer) {
  *buffer = Buffer();
  requested_(&buffer->data, &buffer->bytes, &buffer->max_records);
  if (buffer->data == nullptr && number_of(Switch::SIMCUPTI_NULL_CRASHES) != 0) abort();
  if (buffer->data == nullptr || buffer->bytes == 0) return false;
  u32 extra = u32(number_of(Switch::SIMCUPTI_EXTRA_KIND));
  if (extra != 0) {
    u32 bytes = record_bytes(extra) != 0 ? record_bytes(extra) : 32;
    if (bytes <= buffer->bytes) {
      memset(buffer->data, 0, bytes);
      memcpy(buffer->data, &extra, sizeof extra);
      buffer->used = bytes;
      buffer->records = 1;
    }
  }
  return true;
}

void Buffers::put(const void* record, u32 kind, bool of_thread) {
  u32 bytes = record_bytes(kind);
  bool own = of_thread && number_of(Switch::SIMCUPTI_PER_THREAD) != 0;
  std::lock_guard guard(mutex_);
  if (requested_ == nullptr || bytes == 0) return;
  Buffer& buffer = open_[own ? int(syscall(SYS_gettid)) : 0];
  bool full = buffer.used + bytes > buffer.bytes || (buffer.max_records != 0 && buffer.records == buffer.max_records);
  if (buffer.data != nullptr && full) {
    full_.push_back(buffer);
    buffer.data = nullptr;
    filled_.notify_one();
  }
  if (buffer.data == nullptr && (!request(&buffer) || buffer.used + bytes > buffer.bytes)) {
    dropped_++;
    return;
  }
  memcpy(buffer.data + buffer.used, record, bytes);
  buffer.used += bytes;
  buffer.records++;
}

size_t Buffers::take_dropped() {
  std::lock_guard guard(mutex_);
  size_t count = dropped_;
  dropped_ = 0;
  return count;
}

// What is full goes first, so that the client sees records in the order in which they were made.
bool Buffers::flush() {
  std::deque<Buffer> rest;
  BufferCompleted completed;
  {
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [&] { return (full_.empty() && !handing_over_) || !started_; });
    rest.swap(full_);
    for (auto& [thread, buffer] : open_)
      if (buffer.data != nullptr) rest.push_back(buffer);
    open_.clear();
    completed = completed_;
  }
  for (Buffer& buffer : rest) {
    pause_before_delivery();
    completed(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
  }
  return !rest.empty();
}

void Buffers::every(void (*work)()) {
  std::lock_guard guard(mutex_);
  work_ = work;
  if (started_) return;
  started_ = true;
  std::thread([this] { serve(); }).detach();
}

void Buffers::serve() {
  for (;;) {
    void (*work)();
    {
      std::unique_lock lock(mutex_);
      filled_.wait_for(lock, std::chrono::milliseconds(5), [&] { return !full_.empty(); });
      work = work_;
      while (!full_.empty()) {
        Buffer buffer = full_.front();
        full_.pop_front();
        handing_over_ = true;
        lock.unlock();
        pause_before_delivery();
        completed_(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
        lock.lock();
        handing_over_ = false;
      }
      drained_.notify_all();
    }
    if (work != nullptr) work();
  }
}

}  // namespace sim::cupti
