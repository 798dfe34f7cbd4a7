// The pieces of a trace, parsed. A thread of its own unpacks, brackets and parses a few batches ahead of who reads.
//
// Whatever goes wrong there is met where it would be without that thread: behind the last piece before it.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kineto/read/parse.h"

namespace tprof::kineto {

struct ParsedPiece {
  bool event = false;            // an element of traceEvents, else a member of the top level
  const Value* value = nullptr;  // nullptr: not JSON, not even when repaired; see error
  bool repaired = false;         // it was not JSON before
  u64 offset = 0;                // as in Piece
  std::string_view key;          // of members: the name
  std::string_view text;         // the value as it is written
  ParseError error;
};

class ParsedPieces {
 public:
  // Throws Error(Fault::unreadable) when the file cannot be opened. Strictly, nothing is repaired.
  ParsedPieces(const std::string& path, Strictness strictness);
  ~ParsedPieces();
  ParsedPieces(const ParsedPieces&) = delete;

  // The next piece, valid until the next call; false at the end, whatever it is: see scanner(). Throws what reading
  // threw.
  bool next(ParsedPiece& piece);

  // Once next() was false.
  const TraceScanner& scanner() const { return scanner_; }

 private:
  // Of pieces that were parsed together. At most kBatches of them are alive, of kBatchBytes of text each and some ten
  // times that in values; only a single piece may be larger.
  static constexpr size_t kBatchBytes = 128 << 10, kBatches = 4;
  struct Batch {
    struct Entry {
      ParsedPiece piece;
      bool good = false;
      size_t value = 0;  // index into values, if it is good
    };
    std::unique_ptr<char[]> text = std::make_unique_for_overwrite<char[]>(kBatchBytes);
    size_t used = 0;
    Values values;
    std::vector<Entry> entries;
    std::deque<std::string> kept;  // names of members, repaired texts, and what did not fit into `text`
  };

  void work();
  void fill_batches();
  size_t parse_ahead(std::string_view text);
  void add(const Piece& piece);
  std::unique_ptr<Batch> empty_batch();
  void hand_over();

  TraceScanner scanner_;
  const Strictness strictness_;
  std::unique_ptr<Batch> filling_;  // the thread's
  bool parsed_ = false;             // the piece that the scanner gives is in filling_ already
  u32 first_ = 0;                   // index of its value there, or of what will be
  std::unique_ptr<Batch> current_;  // whose pieces next() gives
  size_t at_ = 0;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> full_, empty_;
  bool finished_ = false, unwanted_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tprof::kineto
