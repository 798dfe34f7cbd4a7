// JSON text -> values: a fast parser for traces.
//
// The values of a piece lie in one array, each one followed by its elements, so that nothing is allocated per value.
// Texts point into the parsed text, except for those with escapes. Numbers are exact. There is no recursion that a
// hostile file could exhaust.
#pragma once
#include <string.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "kineto/read/scan.h"

namespace tprof::kineto {

// A zeroed Value is null.
class Value {
 public:
  bool is_null() const { return kind_ == Kind::null; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::large; }
  bool is_number() const { return is_integer() || kind_ == Kind::real; }
  bool is_i64() const { return kind_ == Kind::integer; }
  bool is_u64() const { return kind_ == Kind::large || (is_i64() && integer_ >= 0); }
  bool is_i32() const { return is_i64() && integer_ == i32(integer_); }
  bool is_u32() const { return is_i64() && integer_ == u32(integer_); }

  // Only for values of that kind.
  i64 as_i64() const { return integer_; }
  u64 as_u64() const { return u64(integer_); }
  double as_double() const {
    if (kind_ == Kind::real) return real_;
    return kind_ == Kind::large ? static_cast<double>(as_u64()) : static_cast<double>(integer_);
  }
  std::string_view as_text() const { return {text_, size_}; }

  u32 size() const { return size_; }  // elements of a list, members of an object, bytes of a text

  // for (const Value& element : value.elements()): empty if the value is no list.
  struct Element {
    const Value* at;
    const Value& operator*() const { return *at; }
    const Value* operator->() const { return at; }
    Element& operator++() { return at += at->span_, *this; }
    bool operator!=(const Element& other) const { return at != other.at; }
  };
  // for (auto [key, value] : value.members()): empty if the value is no object.
  struct NamedValue {
    std::string_view key;
    const Value& value;
  };
  struct Member {
    const Value* at;
    NamedValue operator*() const { return {at->as_text(), at[1]}; }
    Member& operator++() { return at += 1 + at[1].span_, *this; }
    bool operator!=(const Member& other) const { return at != other.at; }
  };
  template <class Iterator>
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
  };
  Range<Element> elements() const { return {{this + 1}, {this + (is_list() ? span_ : 1)}}; }
  Range<Member> members() const { return {{this + 1}, {this + (is_object() ? span_ : 1)}}; }

 private:
  friend class Parser;
  friend class Values;
  enum class Kind : u8 { null, boolean, integer, large, real, text, list, object };

  Kind kind_;
  u32 size_, span_;  // span: number of values up to the next one of the same level
  union {
    i64 integer_;
    double real_;
    const char* text_;
    u32 around_;  // while a list or object is being parsed: the value that holds it
  };
};

// The values of a few pieces. They move when more are added.
class Values {
 public:
  u32 size() const { return count_; }
  const Value& operator[](size_t i) const { return all_[i]; }
  void clear() {
    count_ = 0;
    unescaped_.clear();
  }
  // To be called when the parsed text was copied: the texts of the values from `first` on point to the copy then.
  void follow(u32 first, std::string_view parsed, const char* copy);

 private:
  friend class Parser;
  std::unique_ptr<Value[]> all_;
  u32 count_ = 0, capacity_ = 0;
  std::deque<std::string> unescaped_;  // texts that were written with escapes
};

enum class Strictness : u8 {
  strict,
  lenient,  // also takes NaN and infinities, and any bytes in texts
};

struct ParseError {
  const char* why = "";
  size_t where = 0;  // in the text
};

// Parses the text and appends its value with all elements. Returns false, and appends nothing, if it is not JSON.
bool parse_json(std::string_view text, Strictness strictness, Values& values, ParseError& error);

// Parses the list or object at the start of the text. Returns its size; 0 if there is none that is complete JSON.
size_t parse_first(std::string_view text, Strictness strictness, Values& values);

// A member of an object; a null value if there is none, or `object` is no object.
inline const Value& member(const Value& object, std::string_view key) {
  static const Value kNone{};
  for (auto [name, value] : object.members())
    if (name.size() == key.size() && memcmp(name.data(), key.data(), key.size()) == 0) return value;
  return kNone;
}

inline bool has_member(const Value& object, std::string_view key) {
  for (auto [name, value] : object.members())
    if (name == key) return true;
  return false;
}

inline std::string_view text_of(const Value& value) { return value.is_text() ? value.as_text() : std::string_view(); }

}  // namespace tprof::kineto
