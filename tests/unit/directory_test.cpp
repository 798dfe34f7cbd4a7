#include "base/directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tprof {
namespace {

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    char name[] = "/tmp/directory_test.XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~DirectoryTest() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_F(DirectoryTest, NamesAreThoseOfFilesAndDirectories) {
  std::ofstream(directory_ / "b\n.tprof");
  std::filesystem::create_directory(directory_ / "a");
  std::vector<std::string> names = names_in(directory_.string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b\n.tprof"}));
}

TEST_F(DirectoryTest, WhatCannotBeReadHasNoNames) {
  std::ofstream(directory_ / "file");
  EXPECT_TRUE(names_in((directory_ / "none").string()).empty());
  EXPECT_TRUE(names_in((directory_ / "file").string()).empty());
}

TEST_F(DirectoryTest, OnlyWholePositiveNumbersAreNumbers) {
  for (const char* name : {"10", "9", "0", "-3", "7x", "x7", "99999999999"}) std::ofstream(directory_ / name);
  EXPECT_EQ(numbers_in(directory_.string()), (std::vector<int>{9, 10}));
}

TEST_F(DirectoryTest, AThreadOfThisProcessIsAmongItsThreads) {
  std::thread([] {
    std::vector<int> threads = numbers_in("/proc/self/task");
    EXPECT_TRUE(std::count(threads.begin(), threads.end(), gettid()));
    EXPECT_TRUE(std::count(threads.begin(), threads.end(), getpid()));
  }).join();
}

}  // namespace
}  // namespace tprof
