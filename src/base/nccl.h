// NCCL's words as numbers: rows of nccl.def.
#pragma once
#include <iterator>
#include <string_view>

#include "base/dtypes.h"
#include "base/types.h"

namespace tprof {

enum class NcclAmount : u8 { none, count, all };

struct NcclFunction {
  std::string_view name, collective;
  NcclAmount sent, received;
  bool is_pair() const { return sent == NcclAmount::none || received == NcclAmount::none; }
};

inline constexpr NcclFunction kNcclFunctions[] = {
#define FUNCTION(name, collective, sent, received) {#name, collective, NcclAmount::sent, NcclAmount::received},
#include "base/nccl.def"
};

inline constexpr std::string_view kNcclTypes[] = {
#define TYPE(name, torch) #name,
#include "base/nccl.def"
};

inline constexpr std::string_view kNcclAlgorithms[] = {
#define ALGORITHM(name) #name,
#include "base/nccl.def"
};

inline constexpr std::string_view kNcclProtocols[] = {
#define PROTOCOL(name) #name,
#include "base/nccl.def"
};

// By ncclDataType_t.
constexpr u8 nccl_dtype(u8 type) {
  constexpr u8 kDtypes[] = {
#define TYPE(name, torch) kDtype##torch,
#include "base/nccl.def"
  };
  return type < std::size(kDtypes) ? kDtypes[type] : u8(kDtypeUnknown);
}

// By the name of the function, "ncclAllReduce"; nullptr: it is no operation between ranks.
constexpr const NcclFunction* nccl_function(std::string_view name) {
  constexpr std::string_view kPrefix = "nccl";
  if (!name.starts_with(kPrefix)) return nullptr;
  for (const NcclFunction& f : kNcclFunctions)
    if (f.name == name.substr(kPrefix.size())) return &f;
  return nullptr;
}

}  // namespace tprof
