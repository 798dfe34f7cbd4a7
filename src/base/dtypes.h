// Element types of tensors, as torch and recordings number them: at::ScalarType. The table is dtypes.def.
#pragma once
#include <iterator>
#include <string_view>

#include "base/types.h"

namespace tprof {

// kDtypeByte, kDtypeChar ...
enum Dtype : u8 {
#define DTYPE(name, bytes, cpp_name) kDtype##name,
#include "base/dtypes.def"
#undef DTYPE
  kDtypeUnknown = 255
};
static_assert(kDtypeBFloat16 == 15 && kDtypeFloat8_e5m2 == 23 && kDtypeComplexBFloat16 == 46);

// Bytes of an element; 0: not known, or less than one.
inline u32 dtype_bytes(u16 dtype) {
  constexpr u8 kBytes[] = {
#define DTYPE(name, bytes, cpp_name) bytes,
#include "base/dtypes.def"
#undef DTYPE
  };
  return dtype < std::size(kBytes) ? kBytes[dtype] : 0;
}

// The name by which a collective states its type: "Float", "BFloat16"; empty if the number is unknown.
inline std::string_view dtype_word(u16 dtype) {
  constexpr std::string_view kNames[] = {
#define DTYPE(name, bytes, cpp_name) #name,
#include "base/dtypes.def"
#undef DTYPE
  };
  return dtype < std::size(kNames) ? kNames[dtype] : std::string_view();
}
inline u32 dtype_bytes(std::string_view word) {
  for (u16 i = 0; !dtype_word(i).empty(); i++)
    if (word == dtype_word(i)) return dtype_bytes(i);
  return word.starts_with("Float8") ? 1 : 0;
}

// The C++ name, "long int"; empty if the number is unknown.
inline std::string_view dtype_name(u8 dtype) {
  constexpr std::string_view kNames[] = {
#define DTYPE(name, bytes, cpp_name) cpp_name,
#include "base/dtypes.def"
#undef DTYPE
  };
  return dtype < std::size(kNames) ? kNames[dtype] : std::string_view();
}

}  // namespace tprof
