// JSON documents: values that are built member by member, printed, and read from files that anybody may have written.
//
// A document is written as one of nlohmann::ordered_json is: {{"name", "x"}, {"n", 3}} is an object, {1, 2} an array,
// and members stay in their order. nlohmann/json parses the text, and prints texts and fractions. json.cpp alone
// includes it: its templates were a quarter of what the compiler made of each file that used them.
//
// Broken UTF-8 is printed as U+FFFD, numbers that are not finite as null.
#pragma once
#include <concepts>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_once.h"
#include "base/types.h"

namespace tprof {

// A value has not the form that it was asked for: another kind, no such member or element.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Json {
 public:
  // Numbers that were parsed are `natural` where they have neither sign nor fraction, as unsigned ones of C++ are.
  enum class Kind : u8 { null, boolean, integer, natural, real, string, array, object };
  struct Member;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : kind_(Kind::boolean) { of_.boolean = value; }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : kind_(std::signed_integral<T> ? Kind::integer : Kind::natural) {
    of_.integer = i64(value);
  }
  template <std::floating_point T>
  Json(T value) : kind_(Kind::real) {
    of_.real = value;
  }
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <class T>
  Json(std::span<const T> elements) : Json(array()) {
    for (const T& element : elements) push_back(element);
  }
  template <class T>
  Json(const std::vector<T>& elements) : Json(std::span<const T>(elements)) {}
  template <class Map>
  requires requires { typename Map::mapped_type; }
  Json(const Map& members) : Json(object()) {
    for (const auto& [key, value] : members) (*this)[key] = value;
  }
  Json(std::initializer_list<Json> items);  // an object if all are pairs that begin with a text, otherwise an array
  Json(const Json& other);
  Json(Json&& other) noexcept : kind_(other.kind_), of_(other.of_) { other.kind_ = Kind::null; }
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json() {
    if (kind_ >= Kind::string) release();
  }

  static Json array(std::initializer_list<Json> elements = {});
  static Json object();

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return kind_ >= Kind::integer && kind_ <= Kind::real; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::natural; }
  bool is_natural() const { return kind_ == Kind::natural; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  // These throw JsonError if the value is of another kind. real() takes any number; integer() and natural() take both
  // kinds of whole numbers, converted as by a cast.
  bool boolean() const;
  i64 integer() const;
  u64 natural() const;
  double real() const;
  const std::string& text() const;

  size_t size() const;  // of an array or object; 0 for null, 1 for all others
  bool empty() const { return size() == 0; }

  // Of arrays. push_back() makes null one.
  void push_back(Json value);
  Json& operator[](size_t index) { return const_cast<Json&>(at(index)); }
  const Json& operator[](size_t index) const { return at(index); }
  const Json& at(size_t index) const;
  Json& back();
  bool has(const Json& element) const;

  // Of objects. Writing makes null one, and adds a member that is not there; reading gives null then. at() throws.
  Json& operator[](std::string_view key);
  const Json& operator[](std::string_view key) const;
  const Json& at(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  void erase(std::string_view key);
  void update(const Json& other);  // with the members of another object

  // The member's value; `otherwise` if there is none, or one of another kind.
  std::string value(std::string_view key, const char* otherwise) const;
  bool value(std::string_view key, bool otherwise) const;

  // for (Json& value : document): the elements of an array, the values of an object's members; of others none.
  template <class J>
  struct Iterator {
    J* at;
    size_t stride;  // from one value to the next, in values: a member has a key, too
    J& operator*() const { return *at; }
    Iterator& operator++() { return at += stride, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator<Json> begin();
  Iterator<Json> end();
  Iterator<const Json> begin() const;
  Iterator<const Json> end() const;
  // for (auto& [key, value] : object.items()): none of what is no object.
  std::span<Member> items();
  std::span<const Member> items() const;

  friend bool operator==(const Json& a, const Json& b);  // numbers by value, members in the same order

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  void release();
  const Json* find(std::string_view key) const;  // null: no object, or no such member

  // Mutable, so that the values of an initializer list can be moved out of it.
  mutable Kind kind_ = Kind::null;
  mutable union {
    bool boolean;
    i64 integer;  // and natural numbers, by their bits
    double real;
    std::string* string;
    Array* array;
    Object* object;
  } of_{};
};

struct Json::Member {
  std::string key;
  Json value;
};

// Whoever reads what others wrote may be told of each value and key, to refuse what is too much by an exception.
struct JsonLimits {
  virtual ~JsonLimits() = default;
  virtual void add_value() = 0;
  // before: the members that the object has already, with which the key is compared.
  virtual void add_key(size_t before) = 0;
};

// Null if the text is not JSON. Values more than 64 levels deep are left out: what prints, copies or deletes a value
// recurses once per level.
Json bounded_json(std::string_view text, JsonLimits* limits = nullptr);

std::string json_line(const Json& value);
std::string json_indented(const Json& value);
// One line of ASCII, for traces: some viewers read them in the locale's encoding.
std::string json_ascii(const Json& value);

}  // namespace tprof
