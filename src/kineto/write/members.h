// The members of a JSON object as pieces of its text, for changes to a trace that leave the rest of it as it is.
#pragma once
#include <string_view>

namespace tprof::kineto {

// for (Members m(text); m.next();) use(m.key(), m.value());
// The text is a value that a TraceScanner delimited, so its brackets close; what stands between them is checked only as
// far as is needed here.
class Members {
 public:
  // `text` begins with the brace of the object.
  explicit Members(std::string_view text) : text_(text), at_(1) { good_ = !text.empty() && text[0] == '{'; }

  bool next() {
    if (!good_) return false;
    skip_blanks();
    if (peek() == '}') return false;
    if (!first_ && !take(',')) return good_ = false;
    first_ = false;
    skip_blanks();
    size_t begin = at_;
    if (!skip_string()) return good_ = false;
    key_ = text_.substr(begin + 1, at_ - begin - 2);
    skip_blanks();
    if (!take(':')) return good_ = false;
    skip_blanks();
    begin = at_;
    if (!skip_value()) return good_ = false;
    value_ = text_.substr(begin, at_ - begin);
    return true;
  }

  std::string_view key() const { return key_; }      // as it is written, without quotes
  std::string_view value() const { return value_; }  // as it is written
  bool good() const { return good_; }                // false: this is no object

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : 0; }
  bool take(char c) { return peek() == c && ++at_; }
  void skip_blanks() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') at_++;
  }
  bool skip_string() {
    if (!take('"')) return false;
    for (; at_ < text_.size(); at_++) {
      if (text_[at_] == '"') return ++at_;
      if (text_[at_] == '\\') at_++;
    }
    return false;
  }
  bool skip_value() {
    char first = peek();
    if (first == '"') return skip_string();
    if (first != '{' && first != '[') {
      size_t begin = at_;
      while (at_ < text_.size() && !is_end(text_[at_])) at_++;
      return at_ > begin;
    }
    for (size_t depth = 0; at_ < text_.size();) {
      char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      at_++;
      if (c == '{' || c == '[') depth++;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }
  static bool is_end(char c) { return c == ',' || c == '}' || c == ']' || static_cast<unsigned char>(c) <= ' '; }

  std::string_view text_, key_, value_;
  size_t at_ = 0;
  bool first_ = true, good_ = true;
};

}  // namespace tprof::kineto
