// Device memory of programs without torch: pairs, totals, and who is believed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/build.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart;

class GpuMemoryTest : public testing::Test {
 protected:
  GpuMemoryTest() { b.device(0, an_h100()); }

  Model build(u64 begin = kT, u64 end = kT + 1'000'000) {
    b.window(0, WindowState::sealed, 0, -1, begin, begin, end);
    b.write(dir.path + "/r.tprof");
    auto recording = Recording::open(dir.path + "/r.tprof");
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  }
  void alloc(u32 tid, u64 begin, u64 address, u64 bytes, i8 device = 0, u8 flags = 0, i32 result = 0) {
    CallRecord r{};
    r.address = address;
    r.bytes = bytes;
    r.device = device;
    r.flags = flags;
    r.result = result;
    b.call(tid, 1, "cudaMalloc", kT + begin, kT + begin + 100, CallFamily::alloc, r);
  }
  void release(u32 tid, u64 begin, u64 address, i8 device = 0, u8 flags = 0) {
    CallRecord r{};
    r.address = address;
    r.device = device;
    r.flags = flags;
    b.call(tid, 1, "cudaFree", kT + begin, kT + begin + 100, CallFamily::free, r);
  }
  // operation: 1 allocation, 2 release; kind 3: device memory.
  void seen_by_cupti(u64 ns, u32 operation, u64 address, u64 bytes, u32 kind = 3, u32 correlation = 0) {
    GpuMemoryRecord r{};
    r.ns = b.wall(kT + ns);
    r.address = address;
    r.bytes = bytes;
    r.place = {0, 1, 0, correlation};
    b.gpu(1, Kind::gpu_memory, operation | kind << 8, r);
  }

  TempDir dir;
  RecordingBuilder b;
};

TEST_F(GpuMemoryTest, PairsAndTotalsPerDevice) {
  alloc(kPid, 1000, 0xa000, 100);
  alloc(kPid, 2000, 0xb000, 50, 1);
  alloc(kPid, 3000, 0xc000, 30);
  release(kPid, 4000, 0xa000);
  release(kPid, 5000, 0xb000, 0);  // the current device was another one
  release(kPid, 6000, 0);          // does nothing
  Model m = build();
  struct Expected {
    i64 bytes;
    i8 device;
    u64 total;
    i64 ns;
  } expected[] = {{100, 0, 100, 1100}, {50, 1, 50, 2100}, {30, 0, 130, 3100}, {-100, 0, 30, 4000}, {-50, 1, 0, 5000}};
  ASSERT_EQ(m.memory.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); i++) {
    const MemoryEvent& e = m.memory[i];
    EXPECT_EQ(e.bytes, expected[i].bytes) << i;
    EXPECT_EQ(e.device_index, expected[i].device) << i;
    EXPECT_EQ(e.device_type, kCudaDeviceType);
    EXPECT_EQ(e.total_allocated, expected[i].total) << i;
    EXPECT_EQ(e.total_reserved, expected[i].total) << i;
    EXPECT_EQ(e.ns - m.begin_ns, expected[i].ns) << i;
  }
  EXPECT_EQ(m.ledger.written, 6u + 5u);  // the calls as well
}

TEST_F(GpuMemoryTest, AnAddressThatAnotherThreadGetsAtOnceIsNotConfused) {
  alloc(kPid, 1000, 0xa000, 100);
  release(kPid, 2000, 0xa000);        // from 2000 to 2100
  alloc(kPid + 1, 1950, 0xa000, 70);  // from 1950 to 2050: done after the release began
  release(kPid + 1, 3000, 0xa000);
  Model m = build();
  ASSERT_EQ(m.memory.size(), 4u);
  i64 bytes[] = {100, -100, 70, -70};
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(m.memory[i].bytes, bytes[i]);
  EXPECT_EQ(m.memory[3].total_allocated, 0u);
  EXPECT_EQ(m.ledger.gpu.missed_releases, 0u);
}

TEST_F(GpuMemoryTest, EightThreadsAddUp) {
  std::mt19937 random(4);
  u64 expected = 0;
  std::map<u64, u64> bytes_at;
  for (u32 thread = 0; thread < 8; thread++)
    for (u64 i = 0; i < 200; i++) {
      u64 address = 0x100000 * (thread + 1) + 256 * (random() % 50), begin = 1000 + i * 1000 + thread * 7;
      auto it = bytes_at.find(address);
      if (it == bytes_at.end()) {
        u64 bytes = 1 + random() % 1000;
        alloc(kPid + thread, begin, address, bytes);
        bytes_at[address] = bytes;
        expected += bytes;
      } else {
        release(kPid + thread, begin, address);
        expected -= it->second;
        bytes_at.erase(it);
      }
    }
  Model m = build();
  ASSERT_EQ(m.memory.size(), 1600u);
  EXPECT_EQ(m.memory.back().total_allocated, expected);
  i64 sum = 0;
  for (const MemoryEvent& e : m.memory) {
    sum += e.bytes;
    EXPECT_EQ(u64(sum), e.total_allocated);
  }
}

// As of a program that is linked with CUDA's runtime statically, and gets the same address each time.
TEST_F(GpuMemoryTest, RecordsOfOneAddressWithoutCallsTakeNoTimeThatGrowsWithTheirSquare) {
  constexpr u64 kTimes = 200'000;
  for (u64 i = 0; i < kTimes; i++) {
    seen_by_cupti(1000 + 4 * i, 1, 0xa000, 64);
    seen_by_cupti(1002 + 4 * i, 2, 0xa000, 64);
  }
  EXPECT_EQ(build().memory.size(), 2 * kTimes);
}

TEST_F(GpuMemoryTest, HostMemoryAndFailuresAreNoDeviceMemory) {
  alloc(kPid, 1000, 0xa000, 100, 0, kCallHostMemory);
  release(kPid, 2000, 0xa000, 0, kCallHostMemory);
  alloc(kPid, 3000, 0, 1 << 30, 0, 0, 2);  // out of memory
  alloc(kPid, 4000, 0, 100, 0, 0, 999);    // some other failure
  alloc(kPid, 5000, 0x7, 4096, 0, kCallVirtual);
  release(kPid, 6000, 0x7, 0, kCallVirtual);
  Model m = build();
  ASSERT_EQ(m.memory.size(), 3u);
  EXPECT_EQ(m.memory[0].flags, kMemoryOutOfMemory);
  EXPECT_EQ(m.memory[0].bytes, 1 << 30);
  EXPECT_EQ(m.memory[0].total_allocated, 0u);
  EXPECT_EQ(m.memory[1].bytes, 4096);
  EXPECT_EQ(m.memory[2].bytes, -4096);
}

TEST_F(GpuMemoryTest, WhatTorchReportsIsNotCountedTwice) {
  alloc(kPid, 1000, 0xa000, 1 << 21);  // a segment of the caching allocator
  b.memory(kPid, 1, kT + 2000, 512, 512, 0, kCudaDeviceType, 0);
  Model m = build();
  ASSERT_EQ(m.memory.size(), 1u);
  EXPECT_EQ(m.memory[0].bytes, 512);
}

TEST_F(GpuMemoryTest, TorchThatIsNotAskedToReportHidesItsSegments) {
  b.capability("ops", true, "");
  b.info("option.profile_memory", "0");
  alloc(kPid, 1000, 0xa000, 1 << 21);
  EXPECT_TRUE(build().memory.empty());
}

TEST_F(GpuMemoryTest, CuptiStandsInForCallsThatWereNotSeen) {
  b.api(1, kPid + 3, "cudaMalloc_v3020", kT + 900, kT + 1100, 9);
  seen_by_cupti(1000, 1, 0xa000, 100, 3, 9);
  seen_by_cupti(2000, 1, 0xb000, 100, 2);  // pinned: the host's
  seen_by_cupti(3000, 2, 0xa000, 100);
  Model m = build();
  ASSERT_EQ(m.memory.size(), 2u);
  EXPECT_EQ(m.threads[m.memory[0].thread].tid, kPid + 3);
  EXPECT_EQ(m.threads[m.memory[1].thread].tid, kPid);
  EXPECT_EQ(m.memory[1].total_allocated, 0u);
}

TEST_F(GpuMemoryTest, SeenByBothIsOnce) {
  for (u64 i = 0; i < 20; i++) {
    alloc(kPid, 1000 + i * 1000, 0xa000, 100 + i);
    seen_by_cupti(1050 + i * 1000, 1, 0xa000, 100 + i);
    release(kPid, 1500 + i * 1000, 0xa000);
    seen_by_cupti(1550 + i * 1000, 2, 0xa000, 100 + i);
  }
  Model m = build();
  ASSERT_EQ(m.memory.size(), 40u);
  for (size_t i = 0; i < 40; i++) EXPECT_EQ(m.memory[i].total_allocated, i % 2 ? 0 : 100 + i / 2);
}

TEST_F(GpuMemoryTest, WhatWasAllocatedBeforeCountsWhereItsSizeIsKnown) {
  alloc(kPid, 1000, 0xb000, 10);
  release(kPid, 2000, 0xa000);  // CUPTI knows its size
  seen_by_cupti(2050, 2, 0xa000, 500);
  release(kPid, 3000, 0xc000);  // nobody does
  Model m = build();
  ASSERT_EQ(m.memory.size(), 2u);
  EXPECT_EQ(m.memory[0].total_allocated, 510u);
  EXPECT_EQ(m.memory[1].bytes, -500);
  EXPECT_EQ(m.memory[1].total_allocated, 10u);
  EXPECT_EQ(m.ledger.gpu.unknown_releases, 1u);
}

TEST_F(GpuMemoryTest, TotalsBeginBeforeTheSpan) {
  alloc(kPid, 1000, 0xa000, 100);
  alloc(kPid, 600'000, 0xb000, 10);
  release(kPid, 700'000, 0xa000);
  Model m = build(kT + 500'000);
  ASSERT_EQ(m.memory.size(), 2u);
  EXPECT_EQ(m.memory[0].total_allocated, 110u);
  EXPECT_EQ(m.memory[1].bytes, -100);
}

TEST_F(GpuMemoryTest, ADeviceThatNobodyKnowsIsTheOnlyOneOrNone) {
  alloc(kPid, 1000, 0xa000, 100, -1);
  Model one = build();
  ASSERT_EQ(one.memory.size(), 1u);
  EXPECT_EQ(one.memory[0].device_index, 0);
  b.device(1, an_h100());
  Model two = build();
  EXPECT_TRUE(two.memory.empty());
  EXPECT_EQ(two.ledger.dropped["gpu_bad_device"], 1u);
}

}  // namespace
}  // namespace tprof
