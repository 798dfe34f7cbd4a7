// Occupancy: figures known from real traces, and NVIDIA's own calculator where the toolkit is at hand.
#include "model/gpu/occupancy.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <random>

#include "recording_builder.h"

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define TPROF_HAS_ORACLE 1
#endif

namespace tprof {
namespace {

using test::an_h100;

DeviceRecord a_v100() {
  DeviceRecord d = an_h100();
  d.compute_major = 7;
  d.multiprocessors = 80;
  d.shared_per_multiprocessor = d.shared_per_block_optin = 98304;
  d.shared_reserved_per_block = 0;
  return d;
}

KernelRecord kernel(i32 blocks, i32 threads, u16 registers, i32 static_shared, i32 dynamic_shared) {
  KernelRecord k{};
  k.grid[0] = blocks;
  k.grid[1] = k.grid[2] = 1;
  k.block[0] = threads;
  k.block[1] = k.block[2] = 1;
  k.registers = registers;
  k.static_shared = static_shared;
  k.dynamic_shared = dynamic_shared;
  return k;
}

TEST(Occupancy, FiguresOfRealTraces) {
  DeviceRecord d = a_v100();
  Occupancy o = occupancy_of(kernel(50, 256, 38, 0, 0), &d);
  EXPECT_DOUBLE_EQ(o.blocks_per_sm, 0.625);
  EXPECT_DOUBLE_EQ(o.warps_per_sm, 5.0);
  EXPECT_EQ(lround(o.percent), 8);
  o = occupancy_of(kernel(3136, 128, 128, 16384, 0), &d);
  EXPECT_DOUBLE_EQ(o.blocks_per_sm, 39.2);
  EXPECT_DOUBLE_EQ(o.warps_per_sm, 156.8);
  EXPECT_EQ(lround(o.percent), 25);
}

TEST(Occupancy, MoreThan48KibOfSharedMemory) {
  DeviceRecord d = an_h100();
  int blocks[] = {3, 2, 1}, i = 0;
  for (i32 shared : {60'000, 100'000, 227'000})
    EXPECT_EQ(occupancy_of(kernel(10'000, 256, 32, 0, shared), &d).active_blocks, blocks[i++]) << shared;
  EXPECT_EQ(occupancy_of(kernel(10'000, 256, 32, 0, 240'000), &d).active_blocks, 0);
}

TEST(Occupancy, UnknownIsSaidToBeUnknown) {
  KernelRecord k = kernel(10, 256, 32, 0, 0);
  DeviceRecord none{}, d = an_h100();
  for (const DeviceRecord* device :
       {static_cast<const DeviceRecord*>(nullptr), static_cast<const DeviceRecord*>(&none)}) {
    EXPECT_EQ(occupancy_of(k, device).blocks_per_sm, 0);
    EXPECT_LT(occupancy_of(k, device).percent, 0);
  }
  EXPECT_EQ(occupancy_of(kernel(0, 256, 32, 0, 0), &d).blocks_per_sm, 0);
  EXPECT_EQ(occupancy_of(kernel(-5, 256, 32, 0, 0), &d).blocks_per_sm, 0);
  EXPECT_LT(occupancy_of(kernel(5, 0, 32, 0, 0), &d).percent, 0);
  EXPECT_LT(occupancy_of(kernel(5, 32, 32, 0, INT_MIN), &d).percent, 0);
  d.multiprocessors = 0;
  EXPECT_EQ(occupancy_of(k, &d).blocks_per_sm, 0);
}

TEST(Occupancy, EqualsNvidiasCalculator) {
#ifndef TPROF_HAS_ORACLE
  GTEST_SKIP() << "no CUDA toolkit: cuda_occupancy.h was not found";
#else
  struct Gpu {
    u32 major, minor, sms, threads, blocks, shared_sm, shared_optin, reserved;
  } gpus[] = {{7, 0, 80, 2048, 32, 98304, 98304, 0},          // V100
              {7, 5, 40, 1024, 16, 65536, 65536, 0},          // T4
              {8, 0, 108, 2048, 32, 167936, 166912, 1024},    // A100
              {8, 9, 142, 1536, 24, 102400, 101376, 1024},    // L40
              {9, 0, 132, 2048, 32, 233472, 232448, 1024},    // H100
              {10, 0, 148, 2048, 32, 233472, 232448, 1024}};  // B200
  std::mt19937 random(20261121);
  for (const Gpu& gpu : gpus) {
    DeviceRecord d = an_h100();
    d.compute_major = gpu.major;
    d.compute_minor = gpu.minor;
    d.multiprocessors = gpu.sms;
    d.max_threads_per_multiprocessor = gpu.threads;
    d.max_blocks_per_multiprocessor = gpu.blocks;
    d.shared_per_multiprocessor = gpu.shared_sm;
    d.shared_per_block_optin = gpu.shared_optin;
    d.shared_reserved_per_block = gpu.reserved;
    cudaOccDeviceProp properties;
    properties.computeMajor = int(d.compute_major);
    properties.computeMinor = int(d.compute_minor);
    properties.maxThreadsPerBlock = int(d.max_threads_per_block);
    properties.maxThreadsPerMultiprocessor = int(d.max_threads_per_multiprocessor);
    properties.regsPerBlock = int(d.registers_per_block);
    properties.regsPerMultiprocessor = int(d.registers_per_multiprocessor);
    properties.warpSize = 32;
    properties.sharedMemPerBlock = d.shared_per_block;
    properties.sharedMemPerMultiprocessor = d.shared_per_multiprocessor;
    properties.numSms = int(d.multiprocessors);
    properties.sharedMemPerBlockOptin = d.shared_per_block_optin;
    properties.reservedSharedMemPerBlock = d.shared_reserved_per_block;
    int wrong = 0;
    for (int i = 0; i < 50'000; i++) {
      i32 threads = 1 + i32(random() % 1024), static_shared = random() % 3 ? 0 : i32(random() % 49152);
      i32 dynamic_shared = random() % 2 ? 0 : i32(random() % (d.shared_per_block_optin - u32(static_shared)));
      u16 registers = u16(random() % 256);
      cudaOccFuncAttributes attributes;
      memset(static_cast<void*>(&attributes), 0, sizeof attributes);
      attributes.maxThreadsPerBlock = INT_MAX;
      attributes.numRegs = registers;
      attributes.sharedSizeBytes = size_t(static_shared);
      attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
      attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      attributes.maxDynamicSharedSizeBytes = size_t(dynamic_shared);
      cudaOccDeviceState state;
      cudaOccResult result{};
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                                        size_t(dynamic_shared)),
                CUDA_OCC_SUCCESS);
      int ours = occupancy_of(kernel(1'000'000, threads, registers, static_shared, dynamic_shared), &d).active_blocks;
      if (ours == result.activeBlocksPerMultiprocessor) continue;
      if (wrong++ < 3)
        ADD_FAILURE() << gpu.major << "." << gpu.minor << ": " << threads << " threads, " << registers << " registers, "
                      << static_shared << " + " << dynamic_shared << " bytes: " << ours << ", NVIDIA's "
                      << result.activeBlocksPerMultiprocessor;
    }
    EXPECT_EQ(wrong, 0) << gpu.major << "." << gpu.minor;
  }
#endif
}

}  // namespace
}  // namespace tprof
