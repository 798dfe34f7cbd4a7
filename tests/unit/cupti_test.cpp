// Reading CUPTI's records: sizes probed from every simulated generation (and the real library where there is one), and
// what a record of each then says. Also who waits for which launch, and the buffers.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "collect/cuda/api_names.h"
#include "collect/cuda/buffers.h"
#include "collect/cuda/launches.h"
#include "collect/cuda/records.h"

using namespace tprof;

namespace {

struct Generation {
  u32 api, cuda, kernel, memcpy_, memcpy2, memset_, sync, event, overhead, graph, memory2, pool, context, device,
      marker;
};
constexpr Generation kGenerations[] = {
#define GENERATION(...) {__VA_ARGS__},
#include "fake/cupti/generations.def"
#undef GENERATION
};

void* open_generation(u32 api) {
  std::string folder = std::string(TPROF_FAKE_LIBRARIES) + "/cupti-" + std::to_string(api);
  for (auto& entry : std::filesystem::directory_iterator(folder))
    if (void* handle = dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

RecordSizes probe(void* library) {
  RecordSizes sizes;
  auto next = reinterpret_cast<RecordSizes::NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
  if (next) sizes.probe(next);
  return sizes;
}

// A record of CUPTI's, made field by field.
struct Crafted {
  alignas(8) u8 bytes[512] = {};
  explicit Crafted(u32 kind) { memcpy(bytes, &kind, sizeof kind); }
  template <class T>
  Crafted& set(cupti::Field<T> field, T value) {
    memcpy(bytes + field.at, &value, sizeof value);
    return *this;
  }
  GpuRecord read(u32 size) {
    GpuRecord out;
    EXPECT_TRUE(read_activity({bytes, size}, out));
    return out;
  }
};

Crafted a_kernel() {
  Crafted c(cupti::k_kernel);
  c.set(cupti::kernel_begin, u64(1000)).set(cupti::kernel_end, u64(3000)).set(cupti::kernel_device, 1u);
  c.set(cupti::kernel_context, 2u).set(cupti::kernel_stream, 7u).set(cupti::kernel_correlation, 42u);
  c.set(cupti::kernel_grid_x, 3).set(cupti::kernel_block_z, 5).set(cupti::kernel_registers, u16(24));
  c.set(cupti::kernel_name, static_cast<const char*>("k"))
      .set(cupti::kernel_graph, 9u)
      .set(cupti::kernel_graph_node, u64(11));
  c.set(cupti::kernel_cluster_x, 2u).set(cupti::kernel_dynamic_shared, 60000).set(cupti::kernel_static_shared, 16);
  return c;
}

}  // namespace

TEST(RecordSizes, AreWhatEachGenerationStepsBy) {
  for (const Generation& g : kGenerations) {
    void* library = open_generation(g.api);
    ASSERT_NE(library, nullptr) << g.api;
    RecordSizes sizes = probe(library);
    EXPECT_EQ(sizes.of(cupti::k_kernel), g.kernel) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_memcpy), g.memcpy_) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_memcpy_peer), g.memcpy2) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_memset), g.memset_) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_sync), g.sync) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_event), g.event) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_overhead), g.overhead) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_graph), g.graph) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_memory), g.memory2) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_context), g.context) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_device), g.device) << g.api;
    EXPECT_EQ(sizes.of(cupti::k_runtime), 40u) << g.api;
    dlclose(library);
  }
}

// Where the toolkit is: its library, without a driver. Sizes of CUDA 13 and later only grow.
TEST(RecordSizes, OfTheRealLibraryCoverEveryFieldOfTheTable) {
  const char* home = getenv("CUDA_HOME");  // by its path: the simulated one has the same name
  void* real =
      dlopen((std::string(home ? home : "/usr/local/cuda") + "/lib64/libcupti.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!real) GTEST_SKIP() << "no real libcupti of CUDA 13 here";
  RecordSizes sizes = probe(real);
  const Generation& newest = kGenerations[std::size(kGenerations) - 1];
  EXPECT_GE(sizes.of(cupti::k_kernel), newest.kernel);
  EXPECT_GE(sizes.of(cupti::k_sync), newest.sync);
  EXPECT_GE(sizes.of(cupti::k_event), newest.event);
  EXPECT_GE(sizes.of(cupti::k_memory), newest.memory2);
  EXPECT_GE(sizes.of(cupti::k_graph), newest.graph);
  auto name_of = reinterpret_cast<int (*)(u32, u32, const char**)>(dlsym(real, "cuptiGetCallbackName"));
  ASSERT_NE(name_of, nullptr);
#define NOISE(cbid, name) check(cupti::kRuntimeDomain, cbid, #name);
#define DRIVER(cbid, name) check(cupti::kDriverDomain, cbid, #name);
  auto check = [&](u32 domain, u32 cbid, const char* name) {
    const char* real_name = "";
    EXPECT_EQ(name_of(domain, cbid, &real_name), 0);
    EXPECT_STREQ(real_name, name);
  };
#include "collect/cuda/cupti_calls.def"
#undef DRIVER
#undef NOISE
}

TEST(Records, AKernelHasTheFieldsThatItsGenerationHas) {
  for (const Generation& g : kGenerations) {
    GpuRecord r = a_kernel().read(g.kernel);
    EXPECT_EQ(r.kind, Kind::kernel);
    EXPECT_EQ(r.bytes, sizeof(KernelRecord));
    EXPECT_STREQ(r.name, "k");
    EXPECT_EQ(r.correlation, 42u);
    const KernelRecord& k = r.kernel;
    EXPECT_EQ(k.begin_ns, 1000u);
    EXPECT_EQ(k.end_ns, 3000u);
    EXPECT_EQ(k.place.device, 1u);
    EXPECT_EQ(k.place.context, 2u);
    EXPECT_EQ(k.place.stream, 7u);
    EXPECT_EQ(k.grid[0], 3);
    EXPECT_EQ(k.block[2], 5);
    EXPECT_EQ(k.registers, 24);
    EXPECT_EQ(k.dynamic_shared, 60000);
    EXPECT_EQ(k.static_shared, 16);
    EXPECT_EQ(k.graph, 9u);
    EXPECT_EQ(k.graph_node, 11u);
    EXPECT_EQ(k.cluster[0], g.cuda >= 11080 ? 2u : 0u) << "clusters came with CUDA 11.8, generation " << g.api;
    EXPECT_EQ(k.priority, INT_MIN);
  }
}

TEST(Records, LostStampsAreZeroAndUnfinishedWorkIsToldApart) {
  Crafted lost = a_kernel();
  lost.set(cupti::kernel_begin, u64(0));
  GpuRecord r = lost.read(216);
  EXPECT_EQ(r.kernel.begin_ns, 0u);
  EXPECT_EQ(r.kernel.end_ns, 0u);
  EXPECT_FALSE(r.unfinished);
  Crafted running = a_kernel();
  running.set(cupti::kernel_end, u64(0));
  EXPECT_TRUE(running.read(216).unfinished);
}

TEST(Records, CopiesBetweenDevicesKnowBoth) {
  Crafted c(cupti::k_memcpy_peer);
  c.set(cupti::memcpy_peer_kind, u8(10))
      .set(cupti::memcpy_peer_from_kind, u8(3))
      .set(cupti::memcpy_peer_to_kind, u8(3));
  c.set(cupti::memcpy_peer_flags, u8(1)).set(cupti::memcpy_peer_bytes, u64(4096)).set(cupti::memcpy_peer_begin, u64(1));
  c.set(cupti::memcpy_peer_end, u64(2)).set(cupti::memcpy_peer_from_device, 4u).set(cupti::memcpy_peer_to_device, 5u);
  c.set(cupti::memcpy_peer_correlation, 77u);
  GpuRecord r = c.read(96);
  EXPECT_EQ(r.kind, Kind::copy);
  EXPECT_EQ(r.id, 10u | 3u << 8 | 3u << 16 | 1u << 24);
  EXPECT_EQ(r.copy.bytes, 4096u);
  EXPECT_EQ(r.copy.from_device, 4u);
  EXPECT_EQ(r.copy.to_device, 5u);
  EXPECT_EQ(r.copy.place.correlation, 77u);
}

TEST(Records, OldSynchronisationsAndEventsDoWithoutTheirLaterFields) {
  Crafted s(cupti::k_sync);
  s.set(cupti::sync_type, 3u).set(cupti::sync_event_sync, u64(12)).set(cupti::sync_stream, 7u);
  EXPECT_EQ(s.read(56).sync.event_sync, 12u);
  EXPECT_EQ(s.read(40).sync.event_sync, 0u);
  EXPECT_EQ(s.read(40).sync.place.stream, 7u);
  EXPECT_EQ(s.read(40).sync.place.device, 0xffffffffu);
  Crafted e(cupti::k_event);
  e.set(cupti::event_event, 6u).set(cupti::event_device, 2u).set(cupti::event_device_time, u64(99));
  EXPECT_EQ(e.read(24).id, 6u);
  EXPECT_EQ(e.read(24).event.place.device, 0xffffffffu);
  EXPECT_EQ(e.read(56).event.place.device, 2u);
  EXPECT_EQ(e.read(56).event.device_ns, 99u);
}

TEST(Records, DriverCallsAreToldFromRuntimeCalls) {
  Crafted c(cupti::k_driver);
  c.set(cupti::runtime_cbid, 307u).set(cupti::runtime_thread, 1234u).set(cupti::runtime_result, 2u);
  EXPECT_EQ(c.read(40).api.cbid, 307u | kApiDriver);
  EXPECT_EQ(c.read(40).api.tid, 1234u);
  EXPECT_EQ(c.read(40).api.result, 2);
}

TEST(Records, OtherKindsAreLeftAlone) {
  Crafted c(12);  // a marker
  GpuRecord out;
  EXPECT_FALSE(read_activity({c.bytes, 56}, out));
}

struct LaunchesTest : testing::Test {
  std::unique_ptr<Launches> launches = std::make_unique<Launches>();
};

TEST_F(LaunchesTest, WaitForTheirRecordInWhateverOrderItComes) {
  launches->call(1, 100, true);
  launches->call(2, 200, true);
  launches->call(3, 300, false);
  EXPECT_EQ(launches->pending(0, 1000), 2u);
  EXPECT_EQ(launches->pending(0, 200), 1u);
  EXPECT_EQ(launches->work(1), 100u);
  EXPECT_EQ(launches->work(4), 0u) << "its call is not known yet";
  launches->call(4, 400, true);
  EXPECT_EQ(launches->pending(0, 1000), 1u);
  EXPECT_EQ(launches->give_up(0, 1000), 1u);
  EXPECT_TRUE(launches->given_up(2));
  EXPECT_EQ(launches->pending(0, 1000), 0u);
}

TEST_F(LaunchesTest, TheCallInsideACallCountsOnce) {
  launches->call(5, 120, true);  // the driver's, which ends first
  launches->call(5, 100, true);
  EXPECT_EQ(launches->pending(0, 1000), 1u);
  EXPECT_EQ(launches->work(5), 100u);
  launches->call(5, 100, true);
  EXPECT_EQ(launches->pending(0, 1000), 0u);
}

TEST_F(LaunchesTest, WhatIsLaunchedDuringACaptureHasNoRecord) {
  launches->call(5, 50, true);
  launches->call(7, 150, true);  // by autograd's thread, whose records may come first
  launches->capture(10, 100, true);
  launches->call(6, 110, true);
  launches->capture(10, 200, false);
  launches->call(8, 210, true);
  EXPECT_EQ(launches->pending(0, 1000), 2u);
  EXPECT_EQ(launches->give_up(0, 1000), 2u);
  EXPECT_FALSE(launches->given_up(7));
}

TEST_F(LaunchesTest, WhatWasCapturedManyCapturesAgoIsStillKnown) {
  for (u32 i = 1; i <= 1000; i++) {
    launches->capture(10, 100 * i, true);
    launches->call(i, 100 * i + 10, true);
    launches->capture(10, 100 * i + 50, false);
  }
  launches->call(2000, 50, true);
  EXPECT_EQ(launches->pending(0, 1'000'000), 1u);
}

TEST_F(LaunchesTest, CapturesOfTwoThreadsEndEachForItself) {
  launches->capture(10, 100, true);
  launches->capture(11, 120, true);
  launches->capture(10, 200, false);
  launches->call(1, 250, true);
  EXPECT_EQ(launches->pending(0, 1000), 0u);
  launches->capture(11, 300, false);
  launches->call(2, 350, true);
  EXPECT_EQ(launches->pending(0, 1000), 1u);
}

TEST_F(LaunchesTest, ACaptureThatAnotherThreadEndsIsOver) {
  launches->capture(10, 100, true);
  launches->capture(11, 200, false);
  launches->call(1, 250, true);
  EXPECT_EQ(launches->pending(0, 1000), 1u);
  launches->capture(10, 300, true);
  launches->end_captures(400);  // its end was not reported
  launches->call(2, 450, true);
  EXPECT_EQ(launches->pending(0, 1000), 2u);
}

TEST_F(LaunchesTest, OldOnesMakeRoom) {
  for (u32 i = 1; i < 200'000; i++) launches->call(i, i, true);
  for (u32 i = 1; i < 200'000; i++) launches->work(i);
  EXPECT_EQ(launches->pending(0, 1'000'000), 0u);
}

TEST(Buffers, AreUsedAgainAndKnowWhetherTheyHoldSomething) {
  auto pool = std::make_unique<BufferPool>();
  pool->prepare();
  size_t bytes = 0;
  u8* first = pool->take(&bytes, 100);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 8, 0u);
  EXPECT_GE(bytes, size_t(1) << 20);
  u8* second = pool->take(&bytes, 200);
  EXPECT_NE(first, second);
  EXPECT_FALSE(pool->holds_content_from_before(1000)) << "nothing is written yet";
  first[0] = 10;
  EXPECT_TRUE(pool->holds_content_from_before(150));
  EXPECT_FALSE(pool->holds_content_from_before(50));
  pool->give_back(first);
  EXPECT_FALSE(pool->holds_content_from_before(1000));
  EXPECT_EQ(pool->take(&bytes, 300), first);
  EXPECT_FALSE(pool->holds_content_from_before(1000)) << "old content is not taken for new";
}

TEST(Buffers, ThereIsAlwaysOne) {
  auto pool = std::make_unique<BufferPool>();
  size_t bytes = 0;
  u8* last = nullptr;
  for (int i = 0; i < 300; i++) ASSERT_NE(last = pool->take(&bytes, 1), nullptr);
  EXPECT_TRUE(pool->is_scrap(last));
  EXPECT_GT(bytes, 0u);
  pool->give_back(last);
  EXPECT_TRUE(pool->is_scrap(pool->take(&bytes, 1)));
}
