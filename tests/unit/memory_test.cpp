// How much memory there is, by files as the kernel has them.
#include "base/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "recording_builder.h"

namespace tprof {
namespace {

constexpr u64 kMachine = u64(16) << 30;

class MemoryHere : public testing::Test {
 protected:
  void SetUp() override { put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\n"); }
  void put(const std::string& name, const std::string& text) {
    std::filesystem::path path = dir_.path + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  u64 memory() const { return memory_here(dir_.path + "/proc", dir_.path + "/cgroup"); }
  test::TempDir dir_;
};

TEST_F(MemoryHere, IsThatOfTheMachineWithoutGroups) { EXPECT_EQ(memory(), kMachine); }

TEST_F(MemoryHere, IsUnknownWithoutProc) {
  std::filesystem::remove_all(dir_.path + "/proc");
  EXPECT_EQ(memory(), 0u);
}

TEST_F(MemoryHere, IsWhatTheGroupMayTake) {
  put("proc/self/cgroup", "0::/user.slice/job\n");
  put("cgroup/user.slice/job/memory.max", "1073741824\n");
  EXPECT_EQ(memory(), u64(1) << 30);
}

TEST_F(MemoryHere, IsWhatAGroupAboveMayTake) {
  put("proc/self/cgroup", "0::/user.slice/job\n");
  put("cgroup/user.slice/job/memory.max", "max\n");
  put("cgroup/user.slice/memory.max", "2147483648\n");
  EXPECT_EQ(memory(), u64(2) << 30);
}

TEST_F(MemoryHere, IsThatOfTheMachineIfAGroupMayTakeMore) {
  put("proc/self/cgroup", "0::/job\n");
  put("cgroup/job/memory.max", "1099511627776\n");
  EXPECT_EQ(memory(), kMachine);
}

TEST_F(MemoryHere, IsThatOfAContainerWhosePathIsTheHosts) {
  put("proc/self/cgroup", "0::/docker/0123\n");
  put("cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(memory(), u64(1) << 30);
}

TEST_F(MemoryHere, IsKnownFromTheFirstVersionOfGroups) {
  put("proc/self/cgroup", "12:cpu,cpuacct:/other\n7:hugetlb,memory:/job\n0::/\n");
  put("cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
  put("cgroup/memory/other/memory.limit_in_bytes", "1024\n");
  EXPECT_EQ(memory(), u64(512) << 20);
}

}  // namespace
}  // namespace tprof
