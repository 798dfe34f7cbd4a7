// The tree of stacks: ids are shared by threads, written once, and end where the tree is full.
#include "collect/recorder/stack_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "record/reader.h"
#include "record/writer.h"

namespace tprof {
namespace {

struct StackTreeTest : testing::Test {
  static std::string dir, path;
  static void SetUpTestSuite() {
    char name[] = "/tmp/tprof-stacks-XXXXXX";
    dir = mkdtemp(name);
    path = dir + "/host_1.1.tprof";
    init_clock();
    RecordingSpec spec{path.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false};
    ASSERT_TRUE(g_writer.create(spec));
  }
  static void TearDownTestSuite() {
    unlink(path.c_str());
    rmdir(dir.c_str());
  }
};
std::string StackTreeTest::dir, StackTreeTest::path;

TEST_F(StackTreeTest, ThreadsAgreeOnIdsThatAreWrittenOnce) {
  constexpr u32 kThreads = 8, kDepth = 500;
  std::vector<std::vector<u32>> ids(kThreads);
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; t++)
    threads.emplace_back([&ids, t] {
      for (u32 i = 0, node = 0; i < kDepth; i++) ids[t].push_back(node = stack_node(node, 1 + i % 7, 2 * i));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : ids) EXPECT_EQ(one, ids[0]);

  Meta meta = Recording::open(path)->read_meta();
  ASSERT_EQ(meta.stacks.size(), kDepth);
  u32 at = ids[0].back();
  for (u32 i = kDepth; i-- > 0; at = meta.stacks[at].parent) {
    EXPECT_EQ(meta.stacks[at].code, 1 + i % 7);
    EXPECT_EQ(meta.stacks[at].at, 2 * i);
    EXPECT_LT(meta.stacks[at].parent, at);
  }
  EXPECT_EQ(at, 0u);
}

TEST_F(StackTreeTest, CodeCallerAndPlaceAreToldApart) {
  u32 root = stack_node(0, 100, 0), other = stack_node(0, 101, 0);
  std::vector<u32> nodes{root,
                         other,
                         stack_node(root, 100, 0),
                         stack_node(other, 100, 0),
                         stack_node(root, 100, 2),
                         stack_node(root, 0, 0x7f0000001000),
                         stack_node(root, 0, 0x7e0000001000)};
  for (size_t i = 0; i < nodes.size(); i++)
    for (size_t j = 0; j < i; j++) EXPECT_NE(nodes[i], nodes[j]);
  EXPECT_EQ(stack_node(root, 100, 2), nodes[4]);
}

// Last: nothing can be added behind it.
TEST_F(StackTreeTest, ZFullTreeLosesWhatIsNewAndKeepsWhatIsKnown) {
  u32 known = stack_node(0, 1000, 0), lost = 0, i = 0;
  for (; i < 1'000'000 && lost < 1000; i++) lost += stack_node(0, 2000, 8 * u64(i)) == kStackLost;
  EXPECT_GT(i, 300'000u);
  EXPECT_EQ(lost, 1000u);
  EXPECT_EQ(stack_node(0, 1000, 0), known);
  EXPECT_EQ(stack_node(kStackLost, 1000, 0), kStackLost);
}

}  // namespace
}  // namespace tprof
