// Tables packed for the page: exactly what json_of(table) says in "rows", in a small part of its bytes.
//
// A packed table is a varint (7 bits a byte, lowest first), the number of bytes of the JSON that follows it,
//     {"n": rows, "columns": [{"key", "as"} or {"key", "as": "json", "values": [...]}], "strings": [...]}
// and after that the values of each column that is not "json", one column after the other:
//
//     as     value in JSON                 bytes of each value
//     text   strings["k"]                  varint: 0 null, k + 1
//     int    whole number                  varint: 0 null, else zigzag(value - the last known value) + 1
//     ns     the same, divided by 1000.0   as int: times are whole nanoseconds and JSON says microseconds
//     double number                        8 bytes, little-endian IEEE 754; a NaN is null
//
// A column whose values are of several kinds, or larger than 2^50, is "json". zigzag(v): 2v, or -2v - 1 where v < 0.
#pragma once
#include "report/table.h"

namespace tprof {

std::string packed(const Table& table);

// {"value": value} in the same form, for what is large and no table.
std::string packed(const Json& value);

// By deflate (RFC 1951, without a header): what the page unpacks. In an HTML file it is base64.
std::string deflated(const std::string& bytes);
std::string base64(const std::string& bytes);
constexpr u64 base64_size(u64 bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace tprof
