#include "read_ahead.h"

#include <algorithm>

namespace tprof {

ReadAhead::ReadAhead(std::vector<std::string> paths, bool plugin)
    : paths_(std::move(paths)), plugin_(plugin), slots_(paths_.size()) {
  size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t n = std::min({processors, kMostReaders, paths_.size()}); n > 0; n--)
    readers_.emplace_back([this] { work(); });
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    unwanted_ = true;
  }
  changed_.notify_all();
  for (std::thread& reader : readers_) reader.join();
}

std::unique_ptr<ReadTrace> ReadAhead::next() {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_.at(given_++);
  changed_.notify_all();
  changed_.wait(lock, [&] { return slot.finished; });
  if (slot.failure) std::rethrow_exception(slot.failure);
  return std::move(slot.trace);
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Those begun and not given away yet are in the hands of readers, or finished in place of one.
    changed_.wait(lock, [&] { return unwanted_ || begun_ == paths_.size() || begun_ < given_ + readers_.size(); });
    if (unwanted_ || begun_ == paths_.size()) return;
    size_t i = begun_++;
    Slot read_one;
    lock.unlock();
    read(paths_[i], read_one);
    lock.lock();
    slots_[i] = std::move(read_one);
    slots_[i].finished = true;
    changed_.notify_all();
  }
}

void ReadAhead::read(const std::string& path, Slot& slot) const {
  try {
    slot.trace = std::make_unique<ReadTrace>();
    slot.trace->model = kineto::read_trace(path, plugin_ ? &slot.trace->plugin : nullptr);
  } catch (...) {
    slot.failure = std::current_exception();
    slot.trace.reset();
  }
}

}  // namespace tprof
