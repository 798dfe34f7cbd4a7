// The pieces of a trace, parsed. A separate thread decompresses, delimits and parses a few batches ahead of the reader.
//
// An error in that thread is reported in its place: after the last piece before it.
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
  const Value* value = nullptr;  // nullptr: not JSON, not even after repair; see error
  bool repaired = false;         // it was not JSON before the repair
  u64 offset = 0;                // as in Piece
  std::string_view key;          // of members: the name
  std::string_view text;         // the value as it is written
  ParseError error;
};

class ParsedPieces {
 public:
  // Throws Error(Fault::unreadable) if the file cannot be opened. With Strictness::strict nothing is repaired.
  ParsedPieces(const std::string& path, Strictness strictness);
  ~ParsedPieces();
  ParsedPieces(const ParsedPieces&) = delete;

  // The next piece, valid until the next call; false at any kind of end, see scanner(). Rethrows what reading has
  // thrown.
  bool next(ParsedPiece& piece);

  // Only after next() has returned false.
  const TraceScanner& scanner() const { return scanner_; }

 private:
  // Pieces that are parsed together. At most kBatches exist at a time, each with kBatchBytes of text and about ten
  // times that in values; only a batch with a single piece may be larger.
  static constexpr size_t kBatchBytes = 128 << 10, kBatches = 4;
  struct Batch {
    struct Entry {
      ParsedPiece piece;
      bool good = false;
      size_t value = 0;  // index into values, if it is good
    };
    std::unique_ptr<char[]> text{new char[kBatchBytes]};
    size_t used = 0;
    Values values;
    std::vector<Entry> entries;
    std::deque<std::string> kept;  // names of members, repaired texts, and texts that did not fit into `text`
  };

  void work();
  void fill_batches();
  size_t parse_ahead(std::string_view text);
  void add(const Piece& piece);
  std::unique_ptr<Batch> empty_batch();
  void hand_over();

  TraceScanner scanner_;
  const Strictness strictness_;
  std::unique_ptr<Batch> filling_;  // used by the thread only
  bool parsed_ = false;             // the next piece of the scanner is in filling_ already
  u32 first_ = 0;                   // index of its value there, also of one still to be parsed
  std::unique_ptr<Batch> current_;  // the batch from which next() returns pieces
  size_t at_ = 0;

  std::mutex mutex_;  // of the members below
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> full_, empty_;
  bool finished_ = false, cancelled_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tprof::kineto
