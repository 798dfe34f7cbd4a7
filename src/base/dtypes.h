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

// The same for the name by which a collective states its type: "Float", "BFloat16".
inline u32 dtype_bytes(std::string_view name) {
  constexpr std::string_view kNames[] = {
#define DTYPE(name, bytes, cpp_name) #name,
#include "base/dtypes.def"
#undef DTYPE
  };
  for (u16 i = 0; i < std::size(kNames); i++)
    if (name == kNames[i]) return dtype_bytes(i);
  return name.starts_with("Float8") ? 1 : 0;
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
