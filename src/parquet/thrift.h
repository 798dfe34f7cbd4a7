// Thrift's compact protocol, as far as the metadata of Parquet needs it: writing structs of integers, texts, lists and
// structs. See "Thrift compact protocol" in the sources of Apache Thrift (doc/specs/thrift-compact-protocol.md).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace tprof::parquet {

inline void put_varint(std::string& out, u64 value) {
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  out += char(value);
}

// Writes one struct after the other; fields of a struct in ascending order of their ids.
class ThriftWriter {
 public:
  void i16_field(int id, i64 value) { integer(id, 4, value); }
  void i32_field(int id, i64 value) { integer(id, 5, value); }
  void i64_field(int id, i64 value) { integer(id, 6, value); }
  void text_field(int id, std::string_view text) {
    field(id, kBinary);
    text_element(text);
  }
  template <class Fields>
  void struct_field(int id, Fields fields) {
    field(id, kStruct);
    one_struct(fields);
  }
  // A list of structs: `fields` writes those of one value.
  template <class Values, class Fields>
  void struct_list(int id, const Values& values, Fields fields) {
    list(id, values.size(), kStruct);
    for (const auto& value : values) one_struct([&] { fields(value); });
  }
  void i32_list(int id, const std::vector<i64>& values) {
    list(id, values.size(), 5);
    for (i64 value : values) put_varint(out_, zigzag(value));
  }
  void text_list(int id, const std::vector<std::string>& texts) {
    list(id, texts.size(), kBinary);
    for (const std::string& text : texts) text_element(text);
  }
  // The outermost struct.
  template <class Fields>
  std::string document(Fields fields) {
    one_struct(fields);
    return std::move(out_);
  }

 private:
  static constexpr int kBinary = 8, kList = 9, kStruct = 12;

  static u64 zigzag(i64 value) { return u64(value) << 1 ^ u64(value >> 63); }
  void field(int id, int type) {
    int delta = id - last_;
    if (delta > 0 && delta < 16) {
      out_ += char(delta << 4 | type);
    } else {
      out_ += char(type);
      put_varint(out_, zigzag(id));
    }
    last_ = id;
  }
  void integer(int id, int type, i64 value) {
    field(id, type);
    put_varint(out_, zigzag(value));
  }
  void list(int id, size_t size, int type) {
    field(id, kList);
    out_ += char((size < 15 ? size : 15) << 4 | size_t(type));
    if (size >= 15) put_varint(out_, size);
  }
  void text_element(std::string_view text) {
    put_varint(out_, text.size());
    out_ += text;
  }
  template <class Fields>
  void one_struct(Fields fields) {
    int outer = last_;
    last_ = 0;
    fields();
    out_ += '\0';
    last_ = outer;
  }

  std::string out_;
  int last_ = 0;  // the id of the last field of the present struct
};

}  // namespace tprof::parquet
