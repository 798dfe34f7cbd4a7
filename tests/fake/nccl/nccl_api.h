// The public ABI of NCCL, as far as the simulation has it: own declarations.
#pragma once
#include <cstddef>

namespace sim_nccl {

// ncclResult_t, beside sim::kSuccess.
constexpr int kUnhandledCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6;
constexpr int kSplitNoColor = -1;

struct UniqueId {
  char bytes[128];
};

// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, ...
struct Type {
  size_t bytes;
  const char *text, *kernel;  // as in kernels' names
};
inline const Type* type_of(int number) {
  static constexpr Type kTypes[] = {
      {1, "ncclInt8", "i8"},       {1, "ncclUint8", "u8"},          {4, "ncclInt32", "i32"},
      {4, "ncclUint32", "u32"},    {8, "ncclInt64", "i64"},         {8, "ncclUint64", "u64"},
      {2, "ncclFloat16", "f16"},   {4, "ncclFloat32", "f32"},       {8, "ncclFloat64", "f64"},
      {2, "ncclBfloat16", "bf16"}, {1, "ncclFloat8e4m3", "f8e4m3"}, {1, "ncclFloat8e5m2", "f8e5m2"},
  };
  return number >= 0 && number < int(sizeof kTypes / sizeof *kTypes) ? &kTypes[number] : nullptr;
}

}  // namespace sim_nccl
