// Reading recordings: whole ones, ones of other versions, and damaged ones, which may lose data but must
// neither crash nor hang. Run under ASan and UBSan these are the fuzz tests of the format.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "convert/convert.h"
#include "recording_builder.h"
#include "rounds.h"

namespace tprof {
namespace {

using namespace test;

// A record of every kind of the GPU side.
void add_gpu(RecordingBuilder& b) {
  constexpr u64 kAt = kStart + 210'000;
  GpuPlace place{0, 1, 7, 5};
  b.device(0, an_h100());
  b.context(1, 0, 7);
  CallRecord alloc{};
  alloc.address = 0xa000;
  alloc.bytes = 64;
  b.call(kPid, 1, "cudaMalloc", kAt, kAt + 50, CallFamily::alloc, alloc);
  b.call(kPid, 1, "ncclAllReduce", kAt + 100, kAt + 900, CallFamily::nccl);
  b.api(1, kPid, "cudaLaunchKernel_v7000", kAt + 200, kAt + 300, 5);
  b.api(1, kPid, "cuLaunchKernel", kAt + 210, kAt + 290, 5, 307 | kApiDriver);
  b.kernel(1, "_Z3mmtPf", kAt + 400, kAt + 900, place);
  b.copy(1, 1, 2, 3, kAt + 400, kAt + 900, place, 64);
  b.set(1, kAt + 400, kAt + 900, place, 64);
  b.gpu(1, Kind::sync, 1, SyncRecord{{}, b.wall(kAt + 10), b.wall(kAt + 20), place, 3, 4});
  b.gpu(1, Kind::gpu_event, 3, GpuEventRecord{{}, place, b.wall(kAt + 5), 4, 0});
  b.gpu(1, Kind::graph, 2, GraphRecord{{}, b.wall(kAt + 10), b.wall(kAt + 20), place});
  b.gpu(1, Kind::overhead, 1 << 16, OverheadRecord{{}, b.wall(kAt + 10), b.wall(kAt + 20), 2, kPid, 0, 0});
  b.gpu(1, Kind::gpu_memory, 1 | 3 << 8, GpuMemoryRecord{{}, b.wall(kAt + 30), 0xb000, 64, place, 0});
}

// Something of everything, small enough to be damaged thousands of times.
std::string sample() {
  RecordingBuilder b;
  b.info("option.record_shapes", "1");
  b.info("distributed", R"({"backend": "gloo", "rank": 0, "world_size": 2})");
  b.capability("ops", true, "");
  b.capability("stacks", false, "not built in");
  add_training(b, 6, 2, 4);
  Inputs in;
  in.tensor_list(3).tensor(6, {1, 2}, {2, 1}).undefined().sparse(6, {7}).string("text").integers({1, 2, 3});
  in.booleans({1, 0, 1}).complex(1, 2).wide_tensor(7, {1}, {1});
  RecordRef ref = b.range(kPid + 1, 1, "other thread", kStart + 250'000, 0, {.inputs = &in});
  add_gpu(b);
  b.unknown(kPid + 1, 1);
  b.range_end(kPid + 2, 1, ref, kStart + 260'000);
  b.flush(1, kStart + 300'000);
  return b.bytes();
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Converts with hooks off; an Error is an answer too.
void convert_somehow(const std::string& path, const std::string& out) {
  ConvertOptions options;
  options.use_gzip = false;
  options.out_dir = out;
  options.force = true;
  try {
    convert_recording(path, options);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()), "");
  }
}

TEST(Reader, RoundTrip) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof";
  put(path, sample());
  auto r = Recording::open(path);
  Meta meta = r->read_meta();
  EXPECT_EQ(r->header().pid, kPid);
  EXPECT_EQ(meta.clocks.size(), 2u);
  EXPECT_EQ(meta.steps.size(), 6u);
  ASSERT_EQ(meta.windows.size(), 1u);
  EXPECT_EQ(meta.windows[0].first_step, 2);
  EXPECT_EQ(meta.threads.at(kPid).name, "python3");
  EXPECT_FALSE(meta.capabilities.at("stacks").on);
  EXPECT_EQ(meta.capabilities.at("stacks").why, "not built in");
  EXPECT_EQ(meta.info.at("option.record_shapes"), "1");
  EXPECT_EQ(meta.flushes.size(), 1u);
  u64 ranges = 0, ends = 0;
  r->for_each_data(0, 9, [&](const RecordView& v) {
    ranges += v.kind() == Kind::range;
    ends += v.kind() == Kind::range_end;
  });
  EXPECT_EQ(ranges, 6 * kTrainingEvents + 1);
  EXPECT_EQ(ends, 1u);
  EXPECT_EQ(r->damage().unknown_kinds, 1u);
  EXPECT_FALSE(r->damage().any());
  EXPECT_FALSE(r->writer_alive());
}

TEST(Reader, RefusesWhatIsNoRecording) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof", all = sample();
  auto refused = [&](const std::string& bytes) {
    put(path, bytes);
    try {
      Recording::open(path);
    } catch (const Error& e) {
      return e.fault == Fault::unreadable && std::string(e.what()).find('\n') == std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(all.substr(0, 100)));
  EXPECT_TRUE(refused("XX" + all.substr(2)));
  std::string other = all;
  other[offsetof(FileHeader, version_major)] = 2;
  EXPECT_TRUE(refused(other));
  other = all;
  other[offsetof(FileHeader, version_minor)] = kOldestMinor - 1;
  EXPECT_TRUE(refused(other));
  EXPECT_THROW(Recording::open(dir.path + "/missing"), Error);
}

TEST(Reader, NewerMinorVersionAndUnknownKindsAreRead) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof", all = sample();
  all[offsetof(FileHeader, version_minor)] = kVersionMinor + 1;
  put(path, all);
  ConvertResult r = convert_recording(path, ConvertOptions());
  EXPECT_EQ(r.traces.size(), 2u);
  EXPECT_FALSE(r.damaged);
}

TEST(Reader, NumbersOfStepsThatNobodyCountedAreDamage) {
  TempDir dir;
  RecordingBuilder b;
  b.step(INT64_MAX, kStart + 1);
  b.step(INT64_MIN, kStart + 2);
  b.step(5, kStart + 3);
  b.restart(RestartWhy::recount, INT64_MIN, kStart + 4);
  b.stretch(StretchKind::evaluation, INT64_MIN, kStart + 5, kStart + 6);
  b.window(0, WindowState::sealed, 0, INT64_MAX, kStart, kStart, kStart + 7);
  b.trigger(0, {{}, kStart + 7, u32(TriggerWhy::signal), 0, 0, {}, INT64_MIN, INT64_MAX});
  b.trigger(0, {{}, kStart + 8, u32(TriggerWhy::signal), 0, 0, {}, 0, -2});
  b.write(dir.path + "/r.tprof");
  auto r = Recording::open(dir.path + "/r.tprof");
  Meta meta = r->read_meta();
  EXPECT_EQ(r->damage().bad_records, 6u);
  ASSERT_EQ(meta.steps.size(), 1u);
  EXPECT_EQ(meta.steps[0].number, 5);
  EXPECT_EQ(meta.triggers.size(), 1u);
}

TEST(Reader, MomentsThatCannotBeComputedWithAreDamage) {
  TempDir dir;
  RecordingBuilder b;
  size_t good = 2;  // that every recording of these tests has
  b.clock(kStart + 1, ~u64(0) >> 1, kStart + 1);
  b.clock(kStart + 2, kWall + 2, ~u64(0));
  b.write(dir.path + "/r.tprof");
  auto r = Recording::open(dir.path + "/r.tprof");
  Meta meta = r->read_meta();
  EXPECT_EQ(r->damage().bad_records, 2u);
  EXPECT_EQ(meta.clocks.size(), good);
}

TEST(Reader, TornTailIsReadUpToTheTear) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof", all = sample();
  put(path, all.substr(0, all.size() - 3 * kChunkBytes - 1000));
  auto r = Recording::open(path);
  r->read_meta();
  r->for_each_data(0, 9, [](const RecordView&) {});
  EXPECT_TRUE(r->damage().any());
}

// The chunks are mostly zeros: only what holds something is worth damaging.
std::vector<size_t> used_bytes(const std::string& all) {
  std::vector<size_t> out;
  for (size_t i = 0; i < all.size(); i += 8)
    if (memcmp(all.data() + i, "\0\0\0\0\0\0\0\0", 8) != 0)
      for (size_t k = 0; k < 8; k++) out.push_back(i + k);
  return out;
}

TEST(ReaderFuzz, TruncationAnywhere) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof", all = sample();
  std::vector<size_t> used = used_bytes(all);
  for (size_t i = 0; i < used.size(); i += 97) {
    put(path, all.substr(0, used[i]));
    convert_somehow(path, dir.path);
  }
}

TEST(ReaderFuzz, BitFlips) {
  TempDir dir;
  std::string path = dir.path + "/r.tprof", all = sample();
  std::vector<size_t> used = used_bytes(all);
  put(path, all);
  std::mt19937 random(20261121);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (int round = 0; round < rounds(3000); round++) {
    // One to four flips, put back afterwards.
    std::vector<size_t> places;
    for (u32 n = 1 + random() % 4; n > 0; n--) places.push_back(used[random() % used.size()]);
    for (size_t at : places) file.seekp(std::streamoff(at)).put(static_cast<char>(all[at] ^ (1 << random() % 8)));
    file.flush();
    convert_somehow(path, dir.path);
    for (size_t at : places) file.seekp(std::streamoff(at)).put(all[at]);
    file.flush();
  }
}

}  // namespace
}  // namespace tprof
