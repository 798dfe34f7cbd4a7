// shim/hooks.def and shim/abi.h against NVIDIA's headers, at compile time: every row's parameters travel as those of
// the function that the header declares. Built where a CUDA toolkit of version 12 or later is found.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#if __has_include(<nccl.h>)
#define __CUDA_RUNTIME_H__  // not the C++ overloads, which nccl.h would bring
#include <nccl.h>
#define HAS_NCCL 1
#else
#define HAS_NCCL 0
#endif

#include <cstddef>
#include <type_traits>

#include "collect/cuda/call.h"
#include "shim/abi.h"

// A row whose function this toolkit does not declare finds this one instead: what is declared in the global namespace
// hides what a using-directive brings there.
struct NotDeclared {};
namespace not_declared {
#define CUDA(name, ...) extern NotDeclared name;
#define NCCL(name, ...) extern NotDeclared name;
#define DRIVER(name, ...) extern NotDeclared name;
#define PROFILER(name, ...) extern NotDeclared name;
#define ENTRY_POINT(name, ...) extern NotDeclared name;
#define ASKED(name) extern NotDeclared name;
#define NCCL_ASKED(name) extern NotDeclared name;
#include "shim/hooks.def"
}  // namespace not_declared
using namespace not_declared;

namespace tprof {
namespace {

// How a parameter list travels: bytes per register, and 1000 + bytes for what goes through memory.
struct Travel {
  int words[32] = {};
  int count = 0;
  constexpr bool operator==(const Travel&) const = default;
};

template <class T>
constexpr void add(Travel& t) {
  int bytes = sizeof(T);
  if (!std::is_class_v<T> || bytes <= 8) {
    t.words[t.count++] = bytes;
  } else if (bytes <= 16) {
    t.words[t.count++] = 8;
    t.words[t.count++] = bytes - 8;
  } else {
    t.words[t.count++] = 1000 + bytes;
  }
}

template <class F>
struct TravelOf;
template <class R, class... A>
struct TravelOf<R(A...)> {
  static_assert(sizeof(R) == sizeof(int));
  static constexpr Travel value() {
    Travel t;
    (add<A>(t), ...);
    return t;
  }
};

template <class Ours, class Theirs>
constexpr bool agree() {
  if constexpr (std::is_same_v<Theirs, NotDeclared>)
    return true;
  else
    return TravelOf<Ours>::value() == TravelOf<Theirs>::value();
}

#define AGREES(name, parameters) \
  static_assert(agree<int parameters, std::remove_reference_t<decltype(::name)>>(), "the row of " #name);
#define CUDA(name, twin, family, flags, parameters, ...) AGREES(name, parameters)
#define NCCL(name, family, flags, parameters, ...) AGREES(name, parameters)
#define DRIVER(name, family, flags, parameters, ...) AGREES(name, parameters)
#define PROFILER(name, ...) AGREES(name, ())
#define ENTRY_POINT(name, parameters, ...) AGREES(name, parameters)
#define ASKED(name) AGREES(name, (int*))
#define NCCL_ASKED(name) AGREES(name, (const void*, int*))
#include "shim/hooks.def"

#define SAME(ours, member, theirs, their_member)                           \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ours::member) == sizeof(theirs::their_member));
static_assert(sizeof(Extent) == sizeof(cudaExtent));
SAME(Extent, width, cudaExtent, width)
SAME(Extent, height, cudaExtent, height)
SAME(Extent, depth, cudaExtent, depth)
static_assert(sizeof(Position) == sizeof(cudaPos));
static_assert(sizeof(PitchedPointer) == sizeof(cudaPitchedPtr));
SAME(PitchedPointer, pointer, cudaPitchedPtr, ptr)
SAME(PitchedPointer, pitch, cudaPitchedPtr, pitch)
static_assert(sizeof(ChannelFormat) == sizeof(cudaChannelFormatDesc));
SAME(ChannelFormat, w, cudaChannelFormatDesc, w)
static_assert(sizeof(LaunchConfig) == sizeof(cudaLaunchConfig_t));
SAME(LaunchConfig, stream, cudaLaunchConfig_t, stream)
static_assert(sizeof(Copy3D) == sizeof(cudaMemcpy3DParms));
SAME(Copy3D, source_array, cudaMemcpy3DParms, srcArray)
SAME(Copy3D, target_array, cudaMemcpy3DParms, dstArray)
SAME(Copy3D, target, cudaMemcpy3DParms, dstPtr)
SAME(Copy3D, extent, cudaMemcpy3DParms, extent)
SAME(Copy3D, kind, cudaMemcpy3DParms, kind)
static_assert(sizeof(Copy3DPeer) == sizeof(cudaMemcpy3DPeerParms));
SAME(Copy3DPeer, source_array, cudaMemcpy3DPeerParms, srcArray)
SAME(Copy3DPeer, target_array, cudaMemcpy3DPeerParms, dstArray)
SAME(Copy3DPeer, target, cudaMemcpy3DPeerParms, dstPtr)
SAME(Copy3DPeer, extent, cudaMemcpy3DPeerParms, extent)
static_assert(offsetof(VirtualMemory, location_type) == offsetof(CUmemAllocationProp, location.type));
static_assert(offsetof(VirtualMemory, location) == offsetof(CUmemAllocationProp, location.id));
static_assert(kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kInsufficientDriver == cudaErrorInsufficientDriver);
static_assert(kHostToHost == int(cudaMemcpyHostToHost) && kHostToDevice == int(cudaMemcpyHostToDevice));
static_assert(kDeviceToHost == int(cudaMemcpyDeviceToHost) && kDeviceToDevice == int(cudaMemcpyDeviceToDevice));
#if HAS_NCCL
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(kNcclSystemError == int(ncclSystemError));
#endif

// __cudaLaunchKernel is declared to nvcc only.
constexpr int kOfNvcc = 1;

// Few rows may be unknown to a toolkit, and CUDA 13's must know all but what nvcc alone declares.
int not_declared_rows() {
  int count = 0;
#define CUDA(name, ...) count += std::is_same_v<std::remove_reference_t<decltype(::name)>, NotDeclared>;
#define DRIVER(name, ...) count += std::is_same_v<std::remove_reference_t<decltype(::name)>, NotDeclared>;
#include "shim/hooks.def"
  return count;
}

TEST(Abi, RowsAreDeclaredByTheToolkit) {
  if (CUDART_VERSION >= 13000 && CUDART_VERSION < 14000)
    EXPECT_EQ(not_declared_rows(), kOfNvcc);
  else
    EXPECT_LT(not_declared_rows(), 10);
}

}  // namespace
}  // namespace tprof
