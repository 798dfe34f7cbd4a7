// Reads a trace file piece by piece: JSON, plain or gzip, of any size, in bounded memory.
//
// A piece is one member of the top-level object, or one element of its traceEvents, as the text of one JSON value. In
// Chrome's other form, where the top level is the list of events itself, the pieces are its elements; the bracket that
// closes it may be missing.
// The text between pieces is checked here; the text of a piece is only delimited here and parsed by pieces.h.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/types.h"
#include "kineto/gzip.h"

namespace tprof::kineto {

struct Piece {
  bool event = false;     // an element of traceEvents, else a member of the top level
  std::string_view key;   // of the member, as written (escapes not resolved); "traceEvents" for events
  std::string_view text;  // the value; valid until the next call of next()
  u64 offset = 0;         // of the value, in the uncompressed text
};

// How far reading got.
enum class ScanEnd {
  more,        // not at the end yet
  whole,       // the end of a whole document
  not_object,  // the top level is neither an object nor a list
  bad_json,    // the text between pieces is not JSON; see why()
  cut,         // the text ends inside the document
  damaged,     // the gzip stream is cut off or damaged
};

class TraceScanner {
 public:
  // Throws Error(Fault::unreadable) if the file cannot be opened. `buffer_bytes`: how much is read at once. A value
  // longer than `longest` counts as damage: no viewer reads one of kLongestValue either.
  explicit TraceScanner(const std::string& path, size_t buffer_bytes = 1 << 20, size_t longest = kLongestValue);
  TraceScanner(const TraceScanner&) = delete;

  // The next piece; false at any kind of end, see end().
  bool next(Piece& piece);

  // Receives the text from the start of a value on and may return the length of that value; 0: unknown, and brackets
  // decide.
  using Measure = std::function<size_t(std::string_view text)>;
  void measure_with(Measure measure) { measure_ = std::move(measure); }

  ScanEnd end() const { return end_; }
  const std::string& why() const { return why_; }  // one line for every end but `whole`
  bool saw_events() const { return saw_events_; }  // there was a traceEvents that is an array
  bool is_list() const { return is_list_; }        // the top level is the list of events
  bool unclosed() const { return unclosed_; }      // the closing bracket of that list is missing
  u64 bytes() const { return base_ + filled_; }    // size of the text read so far

  static constexpr size_t kLongestValue = size_t(256) << 20;

 private:
  enum class Place { start, first_member, member, after_member, first_event, event, after_event, after_all, done };

  bool fill();
  bool ends_unclosed();
  int peek();
  bool take(char c);
  bool find_value_end(size_t& end);
  bool read_key();
  bool fill_piece(Piece& piece, bool event);
  bool stop(ScanEnd end, const std::string& why);
  bool unexpected(const char* wanted);

  std::string path_;
  GzipFile file_;
  Measure measure_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_, filled_ = 0, at_ = 0;  // of buffer_
  const size_t longest_;
  u64 base_ = 0;  // offset of buffer_[0]
  bool at_end_ = false;
  Place place_ = Place::start;
  std::string key_;
  ScanEnd end_ = ScanEnd::more;
  std::string why_;
  bool saw_events_ = false, is_list_ = false, any_event_ = false, unclosed_ = false;
};

}  // namespace tprof::kineto
