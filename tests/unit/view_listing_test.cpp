// What tprof view lists of a directory, by names alone.
#include "listing.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tprof::view {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tprof-listing-XXXXXX";
    home_ = mkdtemp(name);
    log_ = home_ + "/log";
    fs::create_directory(log_);
  }
  void TearDown() override { fs::remove_all(home_); }
  void file(const std::string& path) {
    fs::create_directories(fs::path(log_ + "/" + path).parent_path());
    std::ofstream(log_ + "/" + path) << "{}";
  }
  nlohmann::ordered_json json() { return nlohmann::ordered_json::parse(json_of(list_directory(log_))); }
  size_t count(const std::string& run, std::optional<std::string> worker, std::optional<std::string> span) {
    return chosen(list_directory(log_), run, worker, span).size();
  }
  std::string home_, log_;
};

TEST_F(Directory, RunsWorkersAndSpansAreThoseOfTheNames) {
  for (const char* path : {"run 1/a.200.pt.trace.json", "run 1/a.100.pt.trace.json.gz", "run 1/b.pt.trace.json",
                           "deep/er/c.1.pt.trace.json", "d.1.pt.trace.json"})
    file(path);
  auto runs = json()["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]["name"], "log");
  EXPECT_EQ(runs[0]["run"], ".");
  EXPECT_EQ(runs[1]["run"], "deep%2Fer");
  EXPECT_EQ(runs[2]["workers"].dump(), R"([{"name":"a","worker":"a","spans":["1","2"]},)"
                                       R"({"name":"b","worker":"b","spans":["default"]}])");
  EXPECT_EQ(count("run 1", {}, {}), 3u);
  EXPECT_EQ(count("run 1", "a", {}), 2u);
  EXPECT_EQ(count("run 1", "a", "2"), 1u);
  EXPECT_EQ(count("run 1", {}, "2"), 1u);
  EXPECT_EQ(count("run", {}, {}), 0u);
  EXPECT_EQ(chosen(list_directory(log_), ".", {}, {})[0].run, "log");
}

TEST_F(Directory, RecordingsAndWhatIsNotShownAreNamed) {
  file("a.tprof");
  file("config.json");
  file("b.pt.trace.json");
  file("b.pt.trace.json.gz");
  fs::create_symlink("/etc", log_ + "/etc");
  fs::create_symlink("b.pt.trace.json", log_ + "/c.pt.trace.json");
  mkfifo((log_ + "/d.pt.trace.json").c_str(), 0600);
  auto said = json();
  EXPECT_EQ(said["runs"][0]["recordings"].dump(), R"(["a.tprof"])");
  EXPECT_EQ(said["runs"][0]["workers"].dump(), R"([{"name":"b","worker":"b","spans":["default"]}])");
  std::string notes = said["notes"].dump();
  for (const char* words : {"2 symbolic links are not followed", "1 other file", "1 entry is left alone", "; not read"})
    EXPECT_NE(notes.find(words), std::string::npos) << words << notes;
}

TEST_F(Directory, ADirectoryThatCannotBeReadIsNamed) {
  fs::remove(log_);
  EXPECT_NE(json()["notes"].dump().find("No such file"), std::string::npos);
}

TEST_F(Directory, NamesMayHoldAnyByte) {
  file("a\xff\n%/w.1.pt.trace.json");
  EXPECT_EQ(json()["runs"][0]["run"], "a%FF%0A%25");
  EXPECT_EQ(count("a\xff\n%", "w", "1"), 1u);
}

}  // namespace
}  // namespace tprof::view
