#include "json/json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tprof {
namespace {

constexpr size_t kDeepest = 64;

const char* const kKinds[] = {"null",     "a boolean", "an integer", "a number",
                              "a number", "a text",    "an array",   "an object"};

[[noreturn]] void is_no(const char* wanted, Json::Kind kind) {
  throw JsonError(std::string(kKinds[size_t(kind)]) + " stands where " + wanted + " is expected");
}

const Json kNull;

// Follows nlohmann's parser and builds the value.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(Json& root, JsonLimits* limits) : root_(root), limits_(limits) {}

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no part of JSON's text
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (too_deep_) return true;
    if (limits_) limits_->add_key(open_.back()->size());
    member_ = &(*open_.back())[key];
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  // Where the next value belongs.
  Json& put_at(Json value) {
    if (limits_) limits_->add_value();
    if (open_.empty()) return root_ = std::move(value);
    Json& around = *open_.back();
    if (around.is_object()) return *member_ = std::move(value);
    around.push_back(std::move(value));
    return around.back();
  }
  bool put(Json value) {
    if (!too_deep_) put_at(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (too_deep_ || open_.size() == kDeepest)
      too_deep_++;
    else
      open_.push_back(&put_at(std::move(value)));
    return true;
  }
  bool close() {
    too_deep_ ? void(too_deep_--) : open_.pop_back();
    return true;
  }

  Json& root_;
  JsonLimits* limits_;
  std::vector<Json*> open_;  // only the last one grows, so that the others stay where they are
  Json* member_ = nullptr;   // of the innermost object: the one whose key was read
  size_t too_deep_ = 0;      // how many that are too deep are open
};

class Printer {
 public:
  Printer(bool indented, bool ascii) : indented_(indented), ascii_(ascii) {}

  std::string print(const Json& value) {
    put(value, 0);
    return std::move(out_);
  }

 private:
  void put(const Json& value, size_t depth) {
    switch (value.kind()) {
      case Json::Kind::null: out_ += "null"; break;
      case Json::Kind::boolean: out_ += value.boolean() ? "true" : "false"; break;
      case Json::Kind::integer: put_digits(value.integer()); break;
      case Json::Kind::natural: put_digits(value.natural()); break;
      case Json::Kind::real: out_ += nlohmann::json(value.real()).dump(); break;
      case Json::Kind::string: put_text(value.text()); break;
      case Json::Kind::array: {
        List list(*this, '[', value.empty(), depth);
        for (const Json& element : value) list.next(), put(element, depth + 1);
        list.end(']');
        break;
      }
      case Json::Kind::object: {
        List list(*this, '{', value.empty(), depth);
        for (const auto& [key, member] : value.items()) {
          list.next();
          put_text(key);
          out_ += indented_ ? ": " : ":";
          put(member, depth + 1);
        }
        list.end('}');
        break;
      }
    }
  }

  // The commas and the indentation of what stands in brackets.
  struct List {
    List(Printer& to, char bracket, bool is_empty, size_t levels) : printer(to), empty(is_empty), depth(levels) {
      to.out_ += bracket;
    }
    void next() {
      if (!first) printer.out_ += ',';
      first = false;
      line(depth + 1);
    }
    void end(char bracket) {
      if (!empty) line(depth);
      printer.out_ += bracket;
    }
    void line(size_t blanks) {
      if (printer.indented_) printer.out_.append(1, '\n').append(blanks, ' ');
    }

    Printer& printer;
    bool empty, first = true;
    size_t depth;
  };

  template <class Number>
  void put_digits(Number number) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, std::end(digits), number).ptr);
  }

  void put_text(const std::string& text) {
    auto is_plain = [](unsigned char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
    if (std::all_of(text.begin(), text.end(), is_plain))
      out_.append(1, '"').append(text).append(1, '"');
    else
      out_ += nlohmann::json(text).dump(-1, ' ', ascii_, nlohmann::json::error_handler_t::replace);
  }

  bool indented_, ascii_;
  std::string out_;
};

}  // namespace

Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(std::string text) : kind_(Kind::string) { of_.string = new std::string(std::move(text)); }

Json::Json(std::initializer_list<Json> items) {
  bool pairs = std::all_of(items.begin(), items.end(), [](const Json& item) {
    return item.is_array() && item.size() == 2 && item.of_.array->front().is_string();
  });
  if (!pairs) {
    *this = array(items);
    return;
  }
  *this = object();
  for (const Json& item : items) (*this)[item.of_.array->front().text()] = std::move(item.of_.array->back());
}

Json::Json(const Json& other) : kind_(other.kind_), of_(other.of_) {
  if (kind_ == Kind::string) of_.string = new std::string(*other.of_.string);
  if (kind_ == Kind::array) of_.array = new Array(*other.of_.array);
  if (kind_ == Kind::object) of_.object = new Object(*other.of_.object);
}

Json& Json::operator=(const Json& other) { return *this = Json(other); }

Json& Json::operator=(Json&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(of_, other.of_);
  return *this;
}

void Json::release() {
  if (kind_ == Kind::string) delete of_.string;
  if (kind_ == Kind::array) delete of_.array;
  if (kind_ == Kind::object) delete of_.object;
}

Json Json::array(std::initializer_list<Json> elements) {
  Json out;
  out.kind_ = Kind::array;
  out.of_.array = new Array;
  out.of_.array->reserve(elements.size());
  // Moved out of the list, which is gone after this.
  for (const Json& element : elements) {
    Json& added = out.of_.array->emplace_back();
    std::swap(added.kind_, element.kind_);
    std::swap(added.of_, element.of_);
  }
  return out;
}

Json Json::object() {
  Json out;
  out.kind_ = Kind::object;
  out.of_.object = new Object;
  return out;
}

bool Json::boolean() const {
  if (!is_boolean()) is_no("a boolean", kind_);
  return of_.boolean;
}
i64 Json::integer() const {
  if (!is_integer()) is_no("an integer", kind_);
  return of_.integer;
}
u64 Json::natural() const {
  if (!is_integer()) is_no("an integer", kind_);
  return u64(of_.integer);
}
double Json::real() const {
  if (!is_number()) is_no("a number", kind_);
  if (kind_ == Kind::real) return of_.real;
  return kind_ == Kind::natural ? double(u64(of_.integer)) : double(of_.integer);
}
const std::string& Json::text() const {
  if (!is_string()) is_no("a text", kind_);
  return *of_.string;
}

size_t Json::size() const {
  if (is_array()) return of_.array->size();
  return is_object() ? of_.object->size() : !is_null();
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  if (!is_array()) is_no("an array", kind_);
  of_.array->push_back(std::move(value));
}

const Json& Json::at(size_t index) const {
  if (!is_array()) is_no("an array", kind_);
  if (index >= of_.array->size()) throw JsonError("an array has no element " + std::to_string(index));
  return (*of_.array)[index];
}

Json& Json::back() {
  if (!is_array() || empty()) is_no("an array with elements", kind_);
  return of_.array->back();
}

bool Json::has(const Json& element) const {
  return is_array() && std::find(of_.array->begin(), of_.array->end(), element) != of_.array->end();
}

// Of a member, the value; one past the last one is where a further member would have it.
Json::Iterator<const Json> Json::begin() const {
  static_assert(sizeof(Member) % sizeof(Json) == 0);
  if (is_array()) return {of_.array->data(), 1};
  return {is_object() && !empty() ? &of_.object->front().value : nullptr, sizeof(Member) / sizeof(Json)};
}
Json::Iterator<const Json> Json::end() const {
  auto [at, stride] = begin();
  return {at ? at + stride * size() : nullptr, stride};
}
Json::Iterator<Json> Json::begin() {
  auto [at, stride] = std::as_const(*this).begin();
  return {const_cast<Json*>(at), stride};
}
Json::Iterator<Json> Json::end() {
  auto [at, stride] = std::as_const(*this).end();
  return {const_cast<Json*>(at), stride};
}

std::span<Json::Member> Json::items() {
  if (!is_object()) return {};
  return *of_.object;
}
std::span<const Json::Member> Json::items() const {
  if (!is_object()) return {};
  return *of_.object;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : items())
    if (member.key == key) return &member.value;
  return nullptr;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) is_no("an object", kind_);
  if (const Json* found = find(key)) return *const_cast<Json*>(found);
  of_.object->push_back({std::string(key), Json()});
  return of_.object->back().value;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  return found ? *found : kNull;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) is_no("an object", kind_);
  const Json* found = find(key);
  if (!found) throw JsonError("an object has no member \"" + std::string(key) + "\"");
  return *found;
}

void Json::erase(std::string_view key) {
  if (is_object()) std::erase_if(*of_.object, [key](const Member& member) { return member.key == key; });
}

void Json::update(const Json& other) {
  for (const Member& member : other.items()) (*this)[member.key] = member.value;
}

std::string Json::value(std::string_view key, const char* otherwise) const {
  const Json* found = find(key);
  return found && found->is_string() ? found->text() : otherwise;
}
bool Json::value(std::string_view key, bool otherwise) const {
  const Json* found = find(key);
  return found && found->is_boolean() ? found->boolean() : otherwise;
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.kind_ == Json::Kind::real || b.kind_ == Json::Kind::real) return a.real() == b.real();
    bool differ_in_sign = a.kind_ != b.kind_ && (a.of_.integer < 0 || b.of_.integer < 0);
    return a.of_.integer == b.of_.integer && !differ_in_sign;
  }
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Json::Kind::boolean: return a.of_.boolean == b.of_.boolean;
    case Json::Kind::string: return a.text() == b.text();
    case Json::Kind::array: return *a.of_.array == *b.of_.array;
    case Json::Kind::object:
      return std::ranges::equal(a.items(), b.items(),
                                [](const auto& x, const auto& y) { return x.key == y.key && x.value == y.value; });
    default: return true;
  }
}

Json bounded_json(std::string_view text, JsonLimits* limits) {
  Json out;
  Builder builder(out, limits);
  return nlohmann::json::sax_parse(text, &builder) ? out : Json();
}

std::string json_line(const Json& value) { return Printer(false, false).print(value); }
std::string json_indented(const Json& value) { return Printer(true, false).print(value); }
std::string json_ascii(const Json& value) { return Printer(false, true).print(value); }

}  // namespace tprof
