// Which rank a process is: by launchers, by torch.distributed, or none.
#include "model/job.h"

#include <gtest/gtest.h>

#include <map>

namespace tprof {
namespace {

using Variables = std::map<std::string, std::string>;

JobPlace place(const Variables& variables) {
  return place_in_job([&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Job, TheVariablesOfAnyLauncherCount) {
  EXPECT_EQ(place({}).rank, -1);
  EXPECT_EQ(place({}).variable, nullptr);
  for (const LauncherVariables& launcher : kLaunchers) {
    JobPlace found = place({{launcher.rank, "5"},
                            {launcher.world_size, "8"},
                            {launcher.local_rank, "1"},
                            {launcher.local_world_size, "4"}});
    EXPECT_STREQ(found.variable, launcher.rank);
    EXPECT_EQ(found.rank, 5);
    EXPECT_EQ(found.world_size, *launcher.world_size ? 8 : -1);
    EXPECT_EQ(found.local_rank, *launcher.local_rank ? 1 : -1);
    EXPECT_EQ(found.local_world_size, *launcher.local_world_size ? 4 : -1);
  }
}

TEST(Job, TorchrunComesBeforeWhatStartedIt) {
  Variables both{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"RANK", "12"}, {"WORLD_SIZE", "16"}};
  EXPECT_EQ(place(both).rank, 12);
  EXPECT_EQ(place(both).world_size, 16);
  both["RANK"] = "none";
  EXPECT_EQ(place(both).rank, 1);
}

TEST(Job, NoNumberIsNoRank) {
  for (const char* text : {"", "-1", "1x", " 1", "4294967296"}) EXPECT_EQ(place({{"RANK", text}}).rank, -1) << text;
}

TEST(Job, TorchDistributedKnowsBetterThanTheLauncher) {
  FileHeader header{};
  Meta meta;
  meta.info = {{"env.SLURM_PROCID", "1"}, {"env.SLURM_NTASKS", "2"}, {"env.SLURM_LOCALID", "1"}};
  EXPECT_EQ(place_of(header, meta).rank, 1);
  EXPECT_EQ(place_of(header, meta).local_rank, 1);
  meta.info["distributed"] = R"({"backend": "gloo", "rank": 6, "world_size": 16})";
  EXPECT_EQ(place_of(header, meta).rank, 6);
  EXPECT_EQ(place_of(header, meta).world_size, 16);
  EXPECT_EQ(place_of(header, meta).local_rank, -1);
  for (const char* bad : {"[", "[1]", R"({"rank": "6"})", R"({"rank": -6})"}) {
    meta.info["distributed"] = bad;
    EXPECT_EQ(place_of(header, meta).rank, 1) << bad;
  }
}

TEST(Job, ALoaderWorkerIsNoRank) {
  FileHeader header{};
  header.role = u32(Role::helper);
  Meta meta;
  meta.info = {{"env.RANK", "1"}, {"env.WORLD_SIZE", "2"}};
  EXPECT_EQ(place_of(header, meta).rank, -1);
}

}  // namespace
}  // namespace tprof
