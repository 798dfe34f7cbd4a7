// Several recordings in one file: the same as each in a file of its own, whenever the writer is stopped.
#include "record/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "convert/convert.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct Contents {
  u32 pid;
  std::vector<std::string> names;
  std::vector<std::pair<RecordRef, size_t>> records;
  bool operator==(const Contents&) const = default;
};

Contents contents_of(Recording& recording) {
  Contents out{recording.header().pid, {}, {}};
  for (const auto& [id, name] : recording.read_meta().names) out.names.push_back(name);
  recording.for_each_data(0, ~0u, [&](const RecordView& view) { out.records.push_back({view.ref, view.bytes()}); });
  EXPECT_FALSE(recording.damage().any());
  return out;
}

struct Fold : testing::Test {
  TempDir dir;
  std::string path = dir.path + "/folded.tprof";
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  u64 end = 0;
  ~Fold() override { close(fd); }

  std::unique_ptr<Recording> recording(u32 pid) {
    RecordingBuilder b;
    b.header.pid = pid;
    b.name("of " + std::to_string(pid));
    add_training(b, 6, 2, 4);
    RecordRef ref = b.range(kPid + 1, 1, "long", kStart + 250'000, 0);
    b.retire(kPid + 1, 1);
    b.range_end(kPid + 1, 1, ref, kStart + 260'000);  // in another chunk
    std::string own = dir.path + "/" + std::to_string(pid) + ".tprof";
    b.write(own);
    return Recording::open(own);
  }
  Contents append(u32 pid) {
    auto r = recording(pid);
    u64 grown = append_recording(*r, fd, end, ~u64(0));
    EXPECT_GT(grown, end);
    end = grown;
    return contents_of(*r);
  }
  std::vector<Contents> folded() {
    std::vector<Contents> out;
    for (u64 begin : recordings_in(path)) out.push_back(contents_of(*Recording::open(path, begin)));
    return out;
  }
};

TEST_F(Fold, HoldsWhatTheRecordingsHeldAndNoMore) {
  std::vector<Contents> all = {append(1), append(2), append(3)};
  EXPECT_EQ(folded(), all);
  EXPECT_LT(bytes_of(path).size(), 3u * 32 << 10);
  EXPECT_TRUE(Recording::open(path)->is_folded());
}

TEST_F(Fold, ARecordingOfItsOwnIsOne) {
  auto r = recording(1);
  EXPECT_EQ(recordings_in(r->path()), std::vector<u64>{0});
  EXPECT_FALSE(r->is_folded());
}

TEST_F(Fold, AWriterStoppedAnywhereAddedNothing) {
  std::vector<Contents> before = {append(1)};
  u64 first_end = end;
  append(2);
  std::string all = bytes_of(path);
  memset(all.data() + first_end, 0, sizeof FileHeader::magic);
  for (size_t size = first_end; size < all.size(); size += 1000) {
    put(path, all.substr(0, size));
    EXPECT_EQ(folded(), before) << size;
  }
  end = first_end;
  before.push_back(append(3));
  EXPECT_EQ(folded(), before);
}

TEST_F(Fold, BeyondTheLimitNothingIsAddedButTheCount) {
  std::vector<Contents> before = {append(1)};
  EXPECT_EQ(append_recording(*recording(2), fd, end, end + 5000), 0u);
  EXPECT_EQ(errno, EFBIG);
  count_over_budget(fd, 0, 5);
  count_over_budget(fd, 0, 6);
  EXPECT_EQ(folded(), before);
  EXPECT_EQ(bytes_of(path).size(), end);
  EXPECT_EQ(Recording::open(path)->header().dropped[u32(Drop::over_budget)].load(), 11u);
}

// Damage may lose data but must neither crash nor hang.
TEST_F(Fold, Damaged) {
  append(1);
  append(2);
  std::string all = bytes_of(path), damaged;
  ConvertOptions options;
  options.use_gzip = false;
  options.out_dir = dir.path;
  options.force = true;
  std::mt19937 random(20261121);
  for (int round = 0; round < 400; round++) {
    damaged = all.substr(0, random() % 4 ? all.size() : random() % all.size());
    for (u32 n = 1 + random() % 4; n > 0 && !damaged.empty(); n--)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    // Where the sizes stand, more often than by chance.
    if (random() % 2 && damaged.size() > 8192)
      damaged[(random() % 2 ? offsetof(FileHeader, folded_bytes) : 4096 + offsetof(ChunkHeader, folded_bytes)) +
              random() % 8] ^= static_cast<char>(1 << random() % 8);
    put(path, damaged);
    try {
      for (u64 begin : recordings_in(path)) {
        options.begin = begin;
        convert_recording(path, options);
      }
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()), "");
    }
  }
}

}  // namespace
}  // namespace tprof
