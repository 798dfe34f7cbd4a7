#include "kineto/read/pieces.h"

#include <algorithm>

#include "kineto/read/repair.h"

namespace tprof::kineto {

ParsedPieces::ParsedPieces(const std::string& path, Strictness strictness) : scanner_(path), strictness_(strictness) {
  scanner_.measure_with([this](std::string_view text) { return parse_ahead(text); });
  for (size_t i = 0; i < kBatches; i++) empty_.push_back(std::make_unique<Batch>());
  thread_ = std::thread([this] { work(); });
}

ParsedPieces::~ParsedPieces() {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
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
  filling_ = empty_batch();
  for (Piece piece; filling_ && scanner_.next(piece);) {
    add(piece);
    if (filling_->used < kBatchBytes) continue;
    hand_over();
    filling_ = empty_batch();
  }
  if (filling_ && !filling_->entries.empty()) hand_over();
}

// nullptr: reading was cancelled.
std::unique_ptr<ParsedPieces::Batch> ParsedPieces::empty_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !empty_.empty() || cancelled_; });
  if (cancelled_) return nullptr;
  std::unique_ptr<Batch> batch = std::move(empty_.front());
  empty_.pop_front();
  lock.unlock();
  if (batch->used > 2 * kBatchBytes) batch = std::make_unique<Batch>();  // it held a large piece
  batch->used = 0;
  batch->values.clear();
  batch->entries.clear();
  batch->kept.clear();
  return batch;
}

void ParsedPieces::hand_over() {
  std::lock_guard lock(mutex_);
  full_.push_back(std::move(filling_));
  changed_.notify_all();
}

// Parsing a valid value shows where it ends, so the scanner need not search for its end.
size_t ParsedPieces::parse_ahead(std::string_view text) {
  first_ = filling_->values.size();
  size_t size = parse_first(text, strictness_, filling_->values);
  parsed_ = size > 0;
  return size;
}

void ParsedPieces::add(const Piece& piece) {
  Batch& batch = *filling_;
  Batch::Entry entry;
  ParsedPiece& parsed = entry.piece;
  parsed.event = piece.event;
  parsed.offset = piece.offset;
  if (!piece.event) parsed.key = batch.kept.emplace_back(piece.key);
  size_t size = piece.text.size();
  if (batch.used + size <= kBatchBytes) {
    char* copy = batch.text.get() + batch.used;
    memcpy(copy, piece.text.data(), size);
    parsed.text = {copy, size};
  } else {
    parsed.text = batch.kept.emplace_back(piece.text);
  }
  batch.used += size;

  entry.value = first_;
  entry.good = parsed_;
  if (parsed_)
    batch.values.follow(first_, piece.text, parsed.text.data());
  else
    entry.good = parse_json(parsed.text, strictness_, batch.values, parsed.error);
  if (!entry.good && strictness_ == Strictness::lenient) {
    const std::string& repaired = batch.kept.emplace_back(repaired_json(parsed.text));
    entry.good = parsed.repaired = parse_json(repaired, strictness_, batch.values, parsed.error);
  }
  batch.entries.push_back(entry);
}

}  // namespace tprof::kineto
