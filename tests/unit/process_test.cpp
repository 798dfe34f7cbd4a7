// Whether a process is still the one that was found.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "remote/process.h"

namespace tprof::remote {
namespace {

// A child of this process that waits for go() before it does something, and then until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& something) {
    if (pipe(go_) || pipe(done_)) abort();
    pid_ = fork();
    if (pid_) return;
    char byte;
    if (read(go_[0], &byte, 1) == 1) something();
    if (write(done_[1], &byte, 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (int fd : {go_[0], go_[1], done_[0], done_[1]}) close(fd);
  }
  int pid() const { return pid_; }
  void go() const { ASSERT_EQ(write(go_[1], "", 1), 1); }
  void has_done() const {
    char byte;
    ASSERT_EQ(read(done_[0], &byte, 1), 1);
  }

 private:
  int go_[2], done_[2], pid_;
};

TEST(Process, is_the_same_whatever_else_it_does) {
  Child child([] { ASSERT_EQ(chdir("/"), 0); });
  auto process = Process::open(child.pid());
  EXPECT_TRUE(process->is_same());
  child.go();
  child.has_done();
  EXPECT_TRUE(process->is_same());
}

TEST(Process, is_another_one_with_another_program) {
  Child child([] { execl("/bin/sleep", "sleep", "1000", nullptr); });
  auto process = Process::open(child.pid());
  child.go();
  while (process->is_same()) usleep(1000);
}

TEST(Process, is_not_the_same_once_it_has_ended) {
  Child child([] { _exit(0); });
  auto process = Process::open(child.pid());
  child.go();
  while (process->is_same()) usleep(1000);
}

TEST(Process, is_another_one_with_another_user_or_group) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr unsigned kOther = 65534;
  for (const auto& change : std::initializer_list<std::function<void()>>{
           [] { ASSERT_EQ(setresuid(0, kOther, 0), 0); }, [] { ASSERT_EQ(setresuid(kOther, 0, 0), 0); },
           [] { ASSERT_EQ(setresgid(0, kOther, 0), 0); }, [] { ASSERT_EQ(setresuid(0, 0, kOther), 0); }}) {
    Child child(change);
    auto process = Process::open(child.pid());
    EXPECT_TRUE(process->is_same());
    child.go();
    child.has_done();
    EXPECT_FALSE(process->is_same());
  }
}

}  // namespace
}  // namespace tprof::remote
