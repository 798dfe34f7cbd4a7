#include "kineto/read/scan.h"

#include <string.h>
#include <zlib.h>

#include <array>

#include "base/error.h"
#include "kineto/names.h"

namespace tprof::kineto {
namespace {

bool is_space(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The meaning of a character in the search for the end of a value.
enum class Mark : u8 { none, gap, quote, opening, closing };
constexpr std::array<Mark, 256> kMarks = [] {
  std::array<Mark, 256> marks{};
  for (unsigned char c : {' ', '\n', '\r', '\t', ','}) marks[c] = Mark::gap;
  for (unsigned char c : {'{', '['}) marks[c] = Mark::opening;
  for (unsigned char c : {'}', ']'}) marks[c] = Mark::closing;
  marks['"'] = Mark::quote;
  return marks;
}();
Mark mark_of(char c) { return kMarks[static_cast<unsigned char>(c)]; }

// The position of the closing quote of the string whose text begins at `at`; `filled` if it has not been read yet.
size_t end_of_string(const char* text, size_t at, size_t filled) {
  while (at < filled) {
    const auto* quote = static_cast<const char*>(memchr(text + at, '"', filled - at));
    if (!quote) return filled;
    size_t end = size_t(quote - text), slashes = 0;
    while (end - slashes > at && text[end - slashes - 1] == '\\') slashes++;
    if (slashes % 2 == 0) return end;
    at = end + 1;
  }
  return filled;
}

}  // namespace

TraceScanner::TraceScanner(const std::string& path, size_t buffer_bytes, size_t longest)
    : path_(path),
      file_(open_gzip(path)),
      buffer_(new char[buffer_bytes]),
      capacity_(buffer_bytes),
      longest_(longest) {}

bool TraceScanner::stop(ScanEnd end, const std::string& why) {
  end_ = end;
  why_ = why;
  place_ = Place::done;
  return false;
}

bool TraceScanner::unexpected(const char* wanted) {
  if (end_ != ScanEnd::more) return false;  // reading has failed and set why_
  if (at_ >= filled_)
    return stop(ScanEnd::cut, "ends after " + std::to_string(bytes()) + " bytes, where " + wanted + " should follow");
  return stop(ScanEnd::bad_json, std::string(wanted) + " expected at byte " + std::to_string(base_ + at_));
}

// Reads more text into the buffer and discards the text before at_. False at the end of the file.
bool TraceScanner::fill() {
  if (at_end_) return false;
  if (at_ > 0) {
    memmove(buffer_.get(), buffer_.get() + at_, filled_ - at_);
    base_ += at_;
    filled_ -= at_;
    at_ = 0;
  }
  if (filled_ == capacity_) {
    if (capacity_ >= longest_)
      return stop(ScanEnd::bad_json,
                  "a value of more than " + std::to_string(longest_ >> 20) + " MiB at byte " + std::to_string(base_));
    std::unique_ptr<char[]> larger(new char[capacity_ * 2]);
    memcpy(larger.get(), buffer_.get(), filled_);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }
  int n = read_gzip(file_, path_, buffer_.get() + filled_, capacity_ - filled_);
  int code = Z_OK;
  gzerror(file_.get(), &code);
  if (code == Z_ERRNO) throw Error(Fault::unreadable, path_ + ": cannot be read: " + strerror(errno));
  if (n > 0) {  // even if the rest is damaged, which the next call reports
    filled_ += static_cast<size_t>(n);
    return true;
  }
  if (n < 0 || code != Z_OK)
    return stop(ScanEnd::damaged, "gzip damaged or cut off after " + std::to_string(bytes()) + " bytes (" +
                                      gzip_error(file_.get()) + ")");
  at_end_ = true;
  return false;
}

// The next character that is no white space, -1 at the end.
int TraceScanner::peek() {
  do {
    while (at_ < filled_) {
      if (!is_space(static_cast<unsigned char>(buffer_[at_]))) return static_cast<unsigned char>(buffer_[at_]);
      at_++;
    }
  } while (fill());
  return -1;
}

bool TraceScanner::take(char c) {
  if (peek() != c) return false;
  at_++;
  return true;
}

// Finds the end of the value at at_ by its brackets and strings, without parsing it.
bool TraceScanner::find_value_end(size_t& end) {
  size_t at = at_, depth = 0;
  for (;;) {
    const char* text = buffer_.get();
    bool whole = false, cut = false;
    while (!whole && !cut) {
      Mark passed = depth ? Mark::gap : Mark::none;
      while (at < filled_ && mark_of(text[at]) <= passed) at++;
      if (at == filled_) break;
      switch (mark_of(text[at])) {
        case Mark::quote: {
          size_t close = end_of_string(text, at + 1, filled_);
          cut = close == filled_;
          if (!cut) at = close + 1, whole = depth == 0;
          break;
        }
        case Mark::opening:
          depth++;
          at++;
          break;
        case Mark::closing:
          if (depth) at++, depth--;  // otherwise it ends a bare number or word
          whole = depth == 0;
          break;
        default: whole = true;  // white space after a bare number or word
      }
    }
    if (whole && at > at_) {
      end = at;
      return true;
    }
    if (whole) return unexpected("a value");
    size_t done = at - at_;
    if (!fill()) return end_ == ScanEnd::more ? (at_ = filled_, unexpected("the rest of a value")) : false;
    at = at_ + done;  // fill() moved the text
  }
}

bool TraceScanner::read_key() {
  if (peek() != '"') return unexpected("a name in quotes");
  size_t close;
  while ((close = end_of_string(buffer_.get(), at_ + 1, filled_)) == filled_)
    if (!fill()) return at_ = filled_, unexpected("the rest of a name");
  key_.assign(buffer_.get() + at_ + 1, close - at_ - 1);
  at_ = close + 1;
  return take(':') || unexpected("a colon");
}

bool TraceScanner::fill_piece(Piece& piece, bool event) {
  if (peek() < 0) return unexpected("a value");
  size_t size = measure_ ? measure_({buffer_.get() + at_, filled_ - at_}) : 0, end = at_ + size;
  if (!size && !find_value_end(end)) return false;
  piece = {event, key_, {buffer_.get() + at_, end - at_}, base_ + at_};
  at_ = end;
  return true;
}

// True at the end of a list that is not closed, after a complete element or its comma, as Chrome's format allows.
bool TraceScanner::ends_unclosed() {
  if (!is_list_ || !any_event_ || peek() >= 0 || end_ != ScanEnd::more) return false;
  unclosed_ = true;
  end_ = ScanEnd::whole;
  place_ = Place::done;
  return true;
}

bool TraceScanner::next(Piece& piece) {
  for (;;) switch (place_) {
      case Place::start:
        if (peek() < 0) return unexpected("an object");
        if (take('[')) {
          is_list_ = saw_events_ = true;
          place_ = Place::first_event;
          break;
        }
        if (!take('{')) return stop(ScanEnd::not_object, "the top level is neither an object nor a list");
        place_ = Place::first_member;
        break;
      case Place::first_member: place_ = take('}') ? Place::after_all : Place::member; break;
      case Place::member:
        if (!read_key()) return false;
        if (key_ == kTraceEvents && peek() == '[') {
          at_++;
          saw_events_ = true;
          place_ = Place::first_event;
          break;
        }
        place_ = Place::after_member;
        return fill_piece(piece, false);
      case Place::after_member:
        if (take(','))
          place_ = Place::member;
        else if (take('}'))
          place_ = Place::after_all;
        else
          return unexpected("a comma or closing brace");
        break;
      case Place::first_event:
        place_ = !take(']') ? Place::event : is_list_ ? Place::after_all : Place::after_member;
        break;
      case Place::event:
        if (ends_unclosed()) return false;
        place_ = Place::after_event;
        any_event_ = true;
        return fill_piece(piece, true);
      case Place::after_event:
        if (take(','))
          place_ = Place::event;
        else if (take(']'))
          place_ = is_list_ ? Place::after_all : Place::after_member;
        else
          return !ends_unclosed() && unexpected("a comma or closing bracket");
        break;
      case Place::after_all:
        if (peek() >= 0) return unexpected("nothing more");
        if (end_ != ScanEnd::more) return false;
        end_ = ScanEnd::whole;
        place_ = Place::done;
        return false;
      case Place::done: return false;
    }
}

}  // namespace tprof::kineto
