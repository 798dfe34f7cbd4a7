#include "collect/session/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_modes.h"
#include "base/plain_file.h"
#include "record/trigger_file.h"

namespace tprof {
namespace {

// nullptr: it may be taken.
const char* fault_of(const struct stat& s) {
  if (s.st_uid != geteuid()) return "it belongs to another user";
  if (s.st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it";
  if (s.st_nlink != 1) return "it has other names";
  return nullptr;
}

// The text of a file that only this user can have written. `none` if there is no such file.
Request read_file(const char* path, char (&text)[128], const char*& why_not) {
  mode_t kind;
  int fd = open_plain_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, kind);
  if (kind) return why_not = "it is no regular file", Request::refused;
  if (fd < 0 && errno != ELOOP) return Request::none;
  if (fd < 0) return why_not = "it is a symbolic link", Request::refused;
  struct stat s;
  why_not = fstat(fd, &s) == 0 ? fault_of(s) : "it cannot be read";
  ssize_t bytes = why_not ? -1 : read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes < 0) return Request::refused;
  text[bytes] = 0;
  return Request::taken;
}

constexpr char kOther[] = "it holds something else than a request";

bool is_count(long long number) { return number >= 0 && number <= kMaxTriggerSteps; }

}  // namespace

Request take_request(const char* recording, i64& steps, const char*& why_not) {
  char path[PATH_MAX], text[128];
  if (snprintf(path, sizeof path, "%s%s", recording, kTriggerSuffix) >= int(sizeof path)) return Request::none;
  Request request = read_file(path, text, why_not);
  if (request != Request::taken) return request;
  long long number = -1;
  int end = 0;
  bool whole = sscanf(text, "steps %lld%n", &number, &end) == 1 && !strcmp(text + end, "\n");
  if (!whole || !is_count(number)) return why_not = kOther, Request::refused;
  steps = number;
  return unlink(path) == 0 ? Request::taken : Request::none;
}

Request read_rank_request(const char* logdir, RankRequest& out, const char*& why_not) {
  char path[PATH_MAX], text[128];
  if (snprintf(path, sizeof path, "%s/%s", logdir, kRanksFile) >= int(sizeof path)) return Request::none;
  Request request = read_file(path, text, why_not);
  if (request != Request::taken) return request;
  int rank = -1, end = 0;
  long long step = -1, steps = -1;
  unsigned long long at = 0;
  bool whole = sscanf(text, "rank %d step %lld steps %lld at %llu%n", &rank, &step, &steps, &at, &end) == 4 &&
               !strcmp(text + end, "\n");
  if (!whole || rank < 0 || step < 0 || !is_count(steps)) return why_not = kOther, Request::refused;
  out = {rank, step, steps, at};
  return Request::taken;
}

bool write_rank_request(const char* logdir, const RankRequest& request) {
  char path[PATH_MAX], own[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", logdir, kRanksFile) >= int(sizeof path) ||
      snprintf(own, sizeof own, "%s.%d", path, request.rank) >= int(sizeof own))
    return false;
  unlink(own);
  int fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateMode);
  if (fd < 0) return false;
  bool written = dprintf(fd, kRanksLine, request.rank, static_cast<long long>(request.step),
                         static_cast<long long>(request.steps), static_cast<unsigned long long>(request.at_ns)) > 0;
  close(fd);
  return written && rename(own, path) == 0;
}

}  // namespace tprof
