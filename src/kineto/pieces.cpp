#include "kineto/pieces.h"

#include <algorithm>

#include "kineto/repair.h"

namespace tprof::kineto {

ParsedPieces::ParsedPieces(const std::string& path) : scanner_(path) {
  for (size_t i = 0; i < kBatches; i++) empty_.push_back(std::make_unique<Batch>());
  thread_ = std::thread([this] { work(); });
}

ParsedPieces::~ParsedPieces() {
  {
    std::lock_guard lock(mutex_);
    unwanted_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool ParsedPieces::next(ParsedPiece& piece) {
  if (!current_ || at_ == current_->entries.size()) {
    std::unique_lock lock(mutex_);
    if (current_) empty_.push_back(std::move(current_));
    changed_.notify_all();
    changed_.wait(lock, [&] { return !full_.empty() || finished_; });
    if (full_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return false;
    }
    current_ = std::move(full_.front());
    full_.pop_front();
    at_ = 0;
  }
  const Batch::Entry& entry = current_->entries[at_++];
  piece = entry.piece;
  if (entry.good) piece.value = &current_->values[entry.value];
  return true;
}

void ParsedPieces::work() {
  std::exception_ptr failure;
  try {
    fill_batches();
  } catch (...) {
    failure = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  failure_ = failure;
  finished_ = true;
  changed_.notify_all();
}

void ParsedPieces::fill_batches() {
  std::unique_ptr<Batch> batch = empty_batch();
  for (Piece piece; batch && scanner_.next(piece);) {
    if (batch->used + piece.size > kBatchBytes && !batch->entries.empty()) {
      hand_over(std::move(batch));
      batch = empty_batch();
      if (!batch) return;
    }
    add(*batch, piece);
  }
  if (batch && !batch->entries.empty()) hand_over(std::move(batch));
}

// nullptr: nobody wants more.
std::unique_ptr<ParsedPieces::Batch> ParsedPieces::empty_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !empty_.empty() || unwanted_; });
  if (unwanted_) return nullptr;
  std::unique_ptr<Batch> batch = std::move(empty_.front());
  empty_.pop_front();
  lock.unlock();
  if (batch->room > kBatchBytes) batch = std::make_unique<Batch>();
  batch->used = 0;
  batch->values.clear();
  batch->entries.clear();
  batch->kept.clear();
  return batch;
}

void ParsedPieces::hand_over(std::unique_ptr<Batch> batch) {
  std::lock_guard lock(mutex_);
  full_.push_back(std::move(batch));
  changed_.notify_all();
}

void ParsedPieces::add(Batch& batch, const Piece& piece) {
  if (batch.used + piece.size > batch.room) {  // of an empty batch
    batch.room = std::max(piece.size, kBatchBytes);
    batch.text = std::make_unique_for_overwrite<char[]>(batch.room);
  }
  char* text = batch.text.get() + batch.used;  // parsing changes it
  memcpy(text, piece.text, piece.size);
  batch.used += piece.size;

  Batch::Entry entry;
  ParsedPiece& parsed = entry.piece;
  parsed.event = piece.event;
  parsed.offset = piece.offset;
  if (!piece.event) {
    parsed.key = batch.kept.emplace_back(piece.key);
    parsed.text = batch.kept.emplace_back(piece.text, piece.size);
  }
  entry.value = batch.values.size();
  entry.good = parse_json(text, piece.size, Strictness::lenient, batch.values, parsed.error);
  if (!entry.good) {
    std::string& repaired = batch.kept.emplace_back(repaired_json({piece.text, piece.size}));
    entry.good = parsed.repaired =
        parse_json(repaired.data(), repaired.size(), Strictness::lenient, batch.values, parsed.error);
  }
  batch.entries.push_back(entry);
}

}  // namespace tprof::kineto
