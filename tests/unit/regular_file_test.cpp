// Which files are opened at all, and which a process reads for others.
#include "record/regular_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/plain_file.h"
#include "recording_builder.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

class PlainFile : public testing::Test {
 protected:
  std::string path(const char* name) const { return dir_.path + "/" + name; }
  void put(const char* name, const char* text) const { std::ofstream(path(name)) << text; }
  std::string text(const char* name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // 0, or errno.
  int open(const char* name, int flags) const {
    int fd = open_plain_at(AT_FDCWD, path(name).c_str(), flags, kind_, 0600);
    if (fd < 0) return errno;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    EXPECT_EQ(writes ? write(fd, "!", 1) : 1, 1);
    close(fd);
    return 0;
  }
  mutable mode_t kind_ = 0;
  test::TempDir dir_;
};

TEST_F(PlainFile, AFileIsReadWrittenAndMade) {
  EXPECT_EQ(open("a", O_RDONLY), ENOENT);
  EXPECT_EQ(open("a", O_RDWR), ENOENT);
  EXPECT_EQ(open("a", O_RDWR | O_CREAT), 0);
  EXPECT_EQ(open("a", O_WRONLY | O_APPEND | O_CREAT), 0);
  EXPECT_EQ(open("a", O_RDONLY), 0);
  EXPECT_EQ(kind_, 0u);
  EXPECT_EQ(text("a"), "!!");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(PlainFile, LinksAreReadThroughAndNotWrittenThrough) {
  put("a", "text");
  fs::create_symlink("a", path("link"));
  fs::create_symlink("nothing", path("dangling"));
  EXPECT_EQ(open("link", O_RDONLY), 0);
  EXPECT_EQ(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
  EXPECT_EQ(open("link", O_RDWR), ELOOP);
  EXPECT_EQ(open("link", O_WRONLY | O_CREAT), ELOOP);
  EXPECT_EQ(open("dangling", O_WRONLY | O_CREAT), ELOOP);
  EXPECT_EQ(text("a"), "text");
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(PlainFile, WhatIsNoFileIsNamedByItsKind) {
  EXPECT_NE(open(".", O_RDONLY), 0);
  EXPECT_TRUE(S_ISDIR(kind_));
  int fd = open_plain("/dev/null", O_RDWR);
  EXPECT_LT(fd, 0);
  sockaddr_un name{AF_UNIX, {}};
  strcpy(name.sun_path, path("s").c_str());
  int listens = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listens, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  EXPECT_NE(open("s", O_RDONLY), 0);
  EXPECT_TRUE(S_ISSOCK(kind_));
  close(listens);
}

TEST_F(PlainFile, WhoWaitsAtAPipeIsNotMet) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("link"));
  std::atomic<bool> met = false, over = false;
  std::thread writer([&] {
    int fd = ::open(path("pipe").c_str(), O_WRONLY);
    met = !over;
    close(fd);
  });
  usleep(100'000);  // if it takes longer to come to the pipe, nothing is shown
  for (const char* name : {"pipe", "link"})
    for (int flags : {O_RDONLY, O_RDWR, O_RDWR | O_CREAT}) EXPECT_NE(open(name, flags), 0);
  EXPECT_THROW(open_regular(path("pipe"), O_RDONLY), Error);
  usleep(100'000);
  over = true;
  int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  writer.join();
  close(reader);
  EXPECT_FALSE(met);
}

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
