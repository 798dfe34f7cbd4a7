// Which files a process reads for others.
#include "record/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

class ReadOnlyBelow : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tprof-below-XXXXXX";
    home_ = mkdtemp(name);
    fs::create_directories(home_ + "/log/run");
    std::ofstream(home_ + "/log/run/a.json") << "inside";
    std::ofstream(home_ + "/secret") << "outside";
    fs::create_symlink("../secret", home_ + "/log/link");
    fs::create_symlink("run", home_ + "/log/run2");
    fs::create_symlink("run/a.json", home_ + "/log/b.json");
    mkfifo((home_ + "/log/pipe").c_str(), 0600);
    read_only_below(home_ + "/log");
  }
  void TearDown() override {
    read_only_below("");
    fs::remove_all(home_);
  }
  bool opens(const std::string& path) {
    try {
      close(open_regular(path, O_RDONLY));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  std::string home_;
};

TEST_F(ReadOnlyBelow, FilesOfTheDirectoryAreRead) {
  EXPECT_TRUE(opens(home_ + "/log/run/a.json"));
  EXPECT_TRUE(opens(home_ + "/log/run/./a.json"));
}

TEST_F(ReadOnlyBelow, NothingElseIs) {
  for (const char* path :
       {"/secret", "/log/../secret", "/log/run/../../secret", "/log/run/../run/a.json", "/log/link", "/log/run2/a.json",
        "/log/b.json", "/log/pipe", "/log/run", "/log/", "/log", "/logs/x", "/log/run/none"})
    EXPECT_FALSE(opens(home_ + path)) << path;
  EXPECT_FALSE(opens("/etc/passwd"));
  EXPECT_FALSE(opens("log/run/a.json"));
}

TEST_F(ReadOnlyBelow, WithoutItLinksAreFollowed) {
  read_only_below("");
  EXPECT_TRUE(opens(home_ + "/log/link"));
}

}  // namespace
}  // namespace tprof
