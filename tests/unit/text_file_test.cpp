#include "base/text_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace tprof {
namespace {

TEST(TextFile, AllOfItIsRead) {
  char name[] = "/tmp/text_file_test.XXXXXX";
  int fd = mkstemp(name);
  std::string text = std::string(10'000, 'a') + '\0' + "\nend";
  ASSERT_EQ(write(fd, text.data(), text.size()), ssize_t(text.size()));
  close(fd);
  EXPECT_EQ(text_of_file(name), text);
  unlink(name);
}

TEST(TextFile, WhatCanBeOpenedAndNotReadIsEmpty) {
  EXPECT_EQ(text_of_file("/proc/self/mem"), "");  // at address 0: EIO; that of a process that has ended: ESRCH
  EXPECT_EQ(text_of_file("/tmp"), "");
  EXPECT_EQ(text_of_file("/nonexistent"), "");
}

}  // namespace
}  // namespace tprof
