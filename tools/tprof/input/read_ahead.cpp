#include "input/read_ahead.h"

#include <algorithm>
#include <system_error>

namespace tprof {

ReadAhead::ReadAhead(std::vector<std::string> paths, bool plugin, size_t most_ahead)
    : paths_(std::move(paths)), plugin_(plugin), slots_(paths_.size()) {
  size_t processors = std::max(1u, std::thread::hardware_concurrency());
  max_ahead_ = std::min({processors, most_ahead, paths_.size()});
  for (size_t n = std::max<size_t>(max_ahead_, 1); n > 0; n--) try {
      readers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (readers_.empty()) throw;  // otherwise the readers that could be started suffice
      break;
    }
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
    changed_.wait(lock, [&] { return unwanted_ || begun_ == paths_.size() || begun_ < given_ + max_ahead_; });
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
