// Mappings of a file that is cut off: only what a fault shows to be lost is replaced, and its owner is told.
#include "record/mapping.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace tprof {
namespace {

constexpr size_t kBytes = 64 << 10;

class Mapping : public ::testing::Test {
 protected:
  Mapping() {
    struct sigaction ours {};
    ours.sa_sigaction = [](int, siginfo_t* info, void*) {
      if (!replace_mapping(info->si_addr)) signal(SIGBUS, SIG_DFL);
    };
    ours.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &ours, nullptr);
    EXPECT_EQ(ftruncate(fd_, 64 * kBytes), 0);
  }
  ~Mapping() override {
    signal(SIGBUS, SIG_DFL);
    fclose(file_);
  }
  char* map(size_t index, std::atomic<bool>* cut) {
    void* at = map_shared(fd_, off_t(index % 64 * kBytes), kBytes, PROT_READ | PROT_WRITE, cut);
    EXPECT_NE(at, MAP_FAILED);
    return static_cast<char*>(at);
  }

  FILE* file_ = tmpfile();
  int fd_ = fileno(file_);
};

TEST_F(Mapping, IsReplacedWhereTheFileEnds) {
  std::atomic<bool> cut{false}, other_cut{false};
  char *kept = map(0, &other_cut), *lost = map(1, &cut);
  kept[0] = lost[0] = 'x';
  ASSERT_EQ(ftruncate(fd_, kBytes), 0);
  EXPECT_FALSE(cut);
  lost[kBytes - 1] = 'y';
  EXPECT_TRUE(cut);
  EXPECT_EQ(lost[0], 0);
  EXPECT_EQ(lost[kBytes - 1], 'y');
  EXPECT_EQ(kept[0], 'x');
  EXPECT_FALSE(other_cut);
  unmap_shared(lost, kBytes);
  EXPECT_FALSE(replace_mapping(lost));
  unmap_shared(kept, kBytes);
}

TEST_F(Mapping, AnotherOwnerIsTold) {
  std::atomic<bool> cut{false};
  char* at = map(3, &cut);
  reassign_mapping(at, nullptr);
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  at[5] = 1;
  EXPECT_FALSE(cut);
  unmap_shared(at, kBytes);
}

TEST_F(Mapping, AsManyAsThreadsWant) {
  constexpr size_t kEach = 400;
  std::atomic<bool> cut{false};
  std::vector<std::vector<char*>> all(4, std::vector<char*>(kEach));
  std::vector<std::thread> threads;
  for (auto& mine : all)
    threads.emplace_back([&] {
      for (size_t i = 0; i < kEach; i++) mine[i] = map(i, &cut);
      for (size_t i = 0; i < kEach; i += 2) unmap_shared(mine[i], kBytes);
      for (size_t i = 0; i < kEach; i += 2) mine[i] = map(i, &cut);
    });
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(ftruncate(fd_, 0), 0);
  for (auto& mine : all)
    for (char* at : mine) {
      cut = false;
      at[1] = 1;
      EXPECT_TRUE(cut);
      unmap_shared(at, kBytes);
    }
}

TEST_F(Mapping, OfSomebodyElseIsLeftAlone) {
  EXPECT_FALSE(replace_mapping(&kBytes));
  EXPECT_FALSE(replace_mapping(nullptr));
  EXPECT_EQ(map_shared(-1, 0, kBytes, PROT_READ, nullptr), MAP_FAILED);
}

}  // namespace
}  // namespace tprof
