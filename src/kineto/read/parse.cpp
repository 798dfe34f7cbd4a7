#include "kineto/read/parse.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/reals.h"
#include "base/utf8.h"
#include "kineto/read/repair.h"

namespace tprof::kineto {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number of bytes from `at` on that need no escape in a text: no quote, backslash or control character.
inline size_t plain_bytes(const char* at, const char* end) {
  constexpr u64 kOnes = ~u64(0) / 255, kHigh = kOnes << 7;
  const char* begin = at;
  if constexpr (std::endian::native == std::endian::little)
    for (; end - at >= 8; at += 8) {
      u64 word;
      memcpy(&word, at, sizeof word);
      auto zero = [](u64 bytes) {
        return (bytes - kOnes) & ~bytes;
      };  // sets the high bit of zero bytes; the lowest one set is right
      u64 control = (word - kOnes * 0x20) & ~word;
      u64 found = (zero(word ^ kOnes * '"') | zero(word ^ kOnes * '\\') | control) & kHigh;
      if (found) return static_cast<size_t>(at - begin) + static_cast<size_t>(std::countr_zero(found)) / 8;
    }
  while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) at++;
  return static_cast<size_t>(at - begin);
}

}  // namespace

class Parser {
 public:
  Parser(std::string_view text, Strictness strictness, Values& values)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        lenient_(strictness == Strictness::lenient),
        values_(values) {}

  bool all(ParseError& error) {
    u32 before = values_.count_;
    if (tree() && ((peek() == 0 && at_ == end_) || fail("text follows the value")) && is_allowed()) return true;
    values_.count_ = before;
    error = {why_, where()};
    return false;
  }

  size_t first() {
    u32 before = values_.count_;
    if ((peek() == '{' || peek() == '[') && tree() && is_allowed()) return where();
    values_.count_ = before;
    return 0;
  }

 private:
  static constexpr u32 kNothing = UINT32_MAX;

  bool fail(const char* why) {
    why_ = why;
    return false;
  }
  // The next character that is no white space, 0 at the end. (JSON has no NUL byte outside of strings.)
  char peek() {
    for (; at_ < end_; at_++) {
      char c = *at_;
      if (static_cast<unsigned char>(c) > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) return c;
    }
    return 0;
  }
  bool take(char c) { return peek() == c ? at_++, true : false; }

  [[gnu::always_inline]] Value& add(Value::Kind kind,
                                    u32 size = 0) {  // in a large unit gcc does not inline it by itself
    if (values_.count_ == values_.capacity_) grow();
    Value& value = values_.all_[values_.count_++];
    value.kind_ = kind;
    value.size_ = size;
    value.span_ = 1;
    return value;
  }
  void grow() {
    u32 capacity = std::max(2 * values_.capacity_, u32(1024));
    std::unique_ptr<Value[]> all(new Value[capacity]);
    if (values_.count_) memcpy(all.get(), values_.all_.get(), values_.count_ * sizeof(Value));
    values_.all_ = std::move(all);
    values_.capacity_ = capacity;
  }

  size_t where() const { return static_cast<size_t>(at_ - begin_); }

  bool is_allowed() {
    if (lenient_) return true;
    size_t good = good_utf8({begin_, where()});
    if (good == where()) return true;
    at_ = begin_ + good;
    return fail("not UTF-8");
  }

  // Parses a value with all elements. Each round parses one value and closes the lists and objects that end after it.
  bool tree() {
    for (;;) {
      if (!value()) return false;
      for (;;) {
        if (around_ == kNothing) return true;
        Value& around = values_.all_[around_];
        bool object = around.kind_ == Value::Kind::object, empty = opened_;
        opened_ = false;
        around.size_ += !empty;
        char c = peek();
        if (c == (object ? '}' : ']')) {
          at_++;
          around.span_ = values_.count_ - around_;
          around_ = around.around_;
          continue;
        }
        if (!empty && c != ',') return fail(object ? "a comma or } is missing" : "a comma or ] is missing");
        at_ += !empty;
        if (object && !key()) return false;
        break;
      }
    }
  }

  bool value() {
    char c = peek();
    switch (c) {
      case '"': return text();
      case '{': return open(Value::Kind::object);
      case '[': return open(Value::Kind::list);
      case 't': return word("true", Value::Kind::boolean);
      case 'f': return word("false", Value::Kind::boolean);
      case 'n': return word("null", Value::Kind::null);
      default: return number();
    }
  }

  bool open(Value::Kind kind) {
    at_++;
    u32 index = values_.count_;
    add(kind).around_ = around_;
    around_ = index;
    return opened_ = true;
  }

  bool key() {
    if (peek() != '"') return fail("a name in quotes is missing");
    if (!text()) return false;
    return take(':') || fail("a colon is missing");
  }

  bool skip(std::string_view word) {
    if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool word(std::string_view word, Value::Kind kind) {
    if (!skip(word)) return fail("not a value");
    add(kind);
    return true;
  }

  bool number() {
    const char* at = at_;
    bool minus = at < end_ && *at == '-';
    at += minus;
    if (at == end_ || !is_digit(*at)) return (lenient_ && no_number(minus)) || fail("not a value");
    u64 mantissa = 0;
    const char* digits = at;
    auto take_digits = [&] {
      while (at < end_ && is_digit(*at)) mantissa = mantissa * 10 + u64(*at++ - '0');
    };
    if (*at == '0')
      at++;
    else
      take_digits();
    char next = at < end_ ? *at : 0;
    if (next != '.' && next != 'e' && next != 'E') {
      if (at - digits > 18) return long_integer(at, minus);
      at_ = at;
      return integer(minus ? -i64(mantissa) : i64(mantissa));
    }
    if (next == '.') {
      const char* point = at++;
      take_digits();
      auto decimals = static_cast<size_t>(at - point - 1);
      if (!decimals) return fail("a digit is missing after the decimal point");
      bool power = at < end_ && (*at == 'e' || *at == 'E');
      // Both are exact, so the quotient is rounded only once, as it must be.
      static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                         1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
      if (!power && at - digits <= 19 && mantissa < u64(1) << 53) {
        double real = static_cast<double>(mantissa) / kTens[decimals];
        at_ = at;
        add(Value::Kind::real).real_ = minus ? -real : real;
        return true;
      }
    }
    return real(at);
  }

  bool integer(i64 number) {
    add(Value::Kind::integer).integer_ = number;
    return true;
  }

  bool long_integer(const char* end, bool minus) {
    i64 small;
    u64 large;
    if (std::from_chars(at_, end, small).ec == std::errc()) {
      at_ = end;
      return integer(small);
    }
    if (minus || std::from_chars(at_, end, large).ec != std::errc()) return real(end);
    at_ = end;
    add(Value::Kind::large).integer_ = i64(large);
    return true;
  }

  // `at`: after the digits, possibly at an exponent.
  bool real(const char* at) {
    if (at < end_ && (*at == 'e' || *at == 'E')) {
      at++;
      if (at < end_ && (*at == '-' || *at == '+')) at++;
      if (at == end_ || !is_digit(*at)) return fail("a digit is missing in the exponent");
      while (at < end_ && is_digit(*at)) at++;
    }
    std::optional<double> number = read_real({at_, size_t(at - at_)});
    if (!number) return fail("a number is too large");
    at_ = at;
    add(Value::Kind::real).real_ = *number;
    return true;
  }

  bool no_number(bool minus) {
    at_ += minus;
    using Limits = std::numeric_limits<double>;
    if (skip("NaN"))
      add(Value::Kind::real).real_ = Limits::quiet_NaN();
    else if (skip("Infinity") || skip("Inf"))
      add(Value::Kind::real).real_ = minus ? -Limits::infinity() : Limits::infinity();
    else
      return false;
    return true;
  }

  bool text() {
    const char* begin = ++at_;
    at_ += plain_bytes(at_, end_);
    if (at_ == end_ || *at_ != '"') return text_with_escapes(begin);
    add(Value::Kind::text, u32(at_++ - begin)).text_ = begin;
    return true;
  }

  bool text_with_escapes(const char* begin) {
    std::string& out = values_.unescaped_.emplace_back(begin, at_);
    while (at_ < end_ && *at_ != '"') {
      if (*at_ != '\\') return fail("a control character in a text");
      if (!escape(out)) return false;
      size_t plain = plain_bytes(at_, end_);
      out.append(at_, plain);
      at_ += plain;
    }
    if (at_ == end_) return fail("a quote is missing");
    at_++;
    add(Value::Kind::text, u32(out.size())).text_ = out.data();
    return true;
  }

  bool escape(std::string& out) {
    static constexpr char kEscapes[] = "\"\\/bfnrt", kMeant[] = "\"\\/\b\f\n\r\t";
    char kind = end_ - at_ > 1 ? at_[1] : 0;
    if (kind == 'u') {
      u32 code, low;
      if (!hex4(code) || (code >= 0xDC00 && code < 0xE000)) return fail("not an escape of a character");
      if (code >= 0xD800 && code < 0xDC00) {
        if (!hex4(low) || low < 0xDC00 || low >= 0xE000) return fail("half a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      append_utf8(out, code);
      return true;
    }
    const char* found = kind ? strchr(kEscapes, kind) : nullptr;
    if (!found) return fail("not an escape");
    out += kMeant[found - kEscapes];
    at_ += 2;
    return true;
  }

  bool hex4(u32& code) {
    if (end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') return false;
    auto [end, error] = std::from_chars(at_ + 2, at_ + 6, code, 16);
    if (error != std::errc() || end != at_ + 6) return false;
    at_ += 6;
    return true;
  }

  const char *begin_, *at_, *end_;
  bool lenient_, opened_ = false;  // opened: the last value is a list or object that was just opened
  u32 around_ = kNothing;          // the list or object that is open
  Values& values_;
  const char* why_ = "";
};

bool parse_json(std::string_view text, Strictness strictness, Values& values, ParseError& error) {
  return Parser(text, strictness, values).all(error);
}

size_t parse_first(std::string_view text, Strictness strictness, Values& values) {
  return Parser(text, strictness, values).first();
}

void Values::follow(u32 first, std::string_view parsed, const char* copy) {
  for (u32 i = first; i < count_; i++) {
    Value& value = all_[i];
    if (value.kind_ == Value::Kind::text && static_cast<size_t>(value.text_ - parsed.data()) < parsed.size())
      value.text_ = copy + (value.text_ - parsed.data());
  }
}

}  // namespace tprof::kineto
