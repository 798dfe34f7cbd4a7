#include "report/pack.h"

#include <string.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "json/json.h"
#include "report/varint.h"

namespace tprof {
namespace {

constexpr i64 kLargestInt = i64(1) << 50;  // zigzag of their differences is exact in a double, too

std::string with_head(const Json& head, const std::string& tail) {
  std::string json = json_line(head), out;
  put_varint(out, json.size());
  return out + json + tail;
}

class Packer {
 public:
  explicit Packer(const Table& table) : table_(table) {
    for (size_t i = 0; i < table.columns.size(); i++) add(i);
  }

  std::string result() const {
    return with_head({{"n", table_.rows.size()}, {"columns", columns_}, {"strings", strings_}}, bytes_);
  }

 private:
  void add(size_t column) {
    std::string as = kind_of(column);
    Json said = {{"key", table_.columns[column].key}, {"as", as}};
    if (as == "text")
      put_texts(column);
    else if (as == "double")
      put_doubles(column);
    else if (as != "json")
      put_ints(column);
    else
      for (const auto& row : table_.rows) said["values"].push_back(json_of(row[column], table_.columns[column].unit));
    columns_.push_back(std::move(said));
  }

  const char* kind_of(size_t column) const {
    bool text = false, whole = false, real = false, large = false;
    for (const auto& row : table_.rows) {
      text |= std::holds_alternative<std::string>(row[column]);
      real |= std::holds_alternative<double>(row[column]);
      if (auto* number = std::get_if<i64>(&row[column])) {
        whole = true;
        large |= *number > kLargestInt || *number < -kLargestInt;
      }
    }
    Unit unit = table_.columns[column].unit;
    if (unit == Unit::yes_no && !real && !text) return "text";
    if (text + whole + real > 1 || large) return "json";
    return real ? "double" : !whole ? "text" : unit == Unit::time ? "ns" : "int";
  }

  void put_texts(size_t column) {
    for (const auto& row : table_.rows) {
      Json value = json_of(row[column], table_.columns[column].unit);
      put_varint(bytes_, value.is_null() ? 0 : index_of(value.text()) + 1);
    }
  }

  void put_ints(size_t column) {
    i64 last = 0;
    for (const auto& row : table_.rows) {
      auto* number = std::get_if<i64>(&row[column]);
      put_varint(bytes_, number ? zigzag(*number - last) + 1 : 0);
      if (number) last = *number;
    }
  }

  void put_doubles(size_t column) {
    for (const auto& row : table_.rows) {
      auto* number = std::get_if<double>(&row[column]);
      double value = number && std::isfinite(*number) ? *number : std::numeric_limits<double>::quiet_NaN();
      u64 bits;
      memcpy(&bits, &value, sizeof bits);
      for (int i = 0; i < 8; i++) bytes_ += static_cast<char>(bits >> 8 * i);
    }
  }

  u64 index_of(const std::string& text) {
    auto [at, is_new] = index_.try_emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return at->second;
  }

  const Table& table_;
  Json columns_ = Json::array(), strings_ = Json::array();
  std::string bytes_;
  std::unordered_map<std::string, u64> index_;
};

}  // namespace

std::string packed(const Table& table) { return Packer(table).result(); }

std::string packed(const Json& value) { return with_head({{"value", value}}, ""); }

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(base64_size(bytes.size()));
  for (size_t at = 0; at < bytes.size(); at += 3) {
    u32 three = 0;
    size_t known = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; i++) three = three << 8 | (i < known ? u8(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; i++) out += i <= known ? kDigits[three >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace tprof
