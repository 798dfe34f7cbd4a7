#include "finish/sampler.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain_file.h"
#include "finish/followed.h"
#include "record/companion.h"
#include "record/record.h"

namespace tprof {
namespace {

constexpr u64 kCatchUp_ns = 200'000'000, kEnd_ns = 500'000'000;
constexpr useconds_t kPause_us = 2000;

}  // namespace

void SamplerProcess::start(const std::string& recording) {
  path_ = samples_of(recording);
  pid_ = start_beside("sample", recording);
}

void SamplerProcess::catch_up() const {
  if (pid_ < 0) return;
  u64 now = clock_ns(CLOCK_MONOTONIC);
  int fd = open_plain(path_.c_str(), O_RDONLY | O_NOFOLLOW);
  if (fd < 0) return;
  for (u64 until = 0; until < now && clock_ns(CLOCK_MONOTONIC) < now + kCatchUp_ns; usleep(kPause_us)) {
    bool read = pread(fd, &until, sizeof until, offsetof(FileHeader, sampled_until_ns)) == sizeof until;
    if (!read || kill(pid_, 0) != 0) break;
    u32 closed = 0;
    if (pread(fd, &closed, sizeof closed, offsetof(FileHeader, closed)) != sizeof closed || closed) break;
  }
  close(fd);
}

void SamplerProcess::stop() {
  if (pid_ < 0) return;
  u64 begin = clock_ns(CLOCK_MONOTONIC);
  int status;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (clock_ns(CLOCK_MONOTONIC) - begin > kEnd_ns) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    usleep(kPause_us);
  }
  pid_ = -1;
}

void remove_samples(const std::string& recording) {
  std::string path = samples_of(recording);
  if (access(recording.c_str(), F_OK) != 0) unlink(path.c_str());
}

}  // namespace tprof
