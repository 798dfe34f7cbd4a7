#include "confinement.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "base/confined.h"

namespace tprof {
namespace {

constexpr u64 kMemory = u64(4) << 30;
constexpr u64 kRequest_s = 60;
constexpr u64 kTrace = u64(1) << CAP_SYS_PTRACE, kRead = u64(1) << CAP_DAC_READ_SEARCH,
              kReadAndWrite = u64(1) << CAP_DAC_OVERRIDE;

// By which files of others can be read. Containers often lack the lesser one.
u64 reading() { return permitted_capabilities() & kRead ? kRead : kReadAndWrite; }

// The one id that a line of /proc/PID/status has four times: real, effective, saved, of the file system.
std::optional<u32> only_id(int pid, const char* name) {
  std::istringstream ids(remote::status_field(pid, name));
  u32 first = 0, id = 0;
  if (!(ids >> first)) return {};
  while (ids >> id)
    if (id != first) return {};
  return first;
}

// The user of a program, if it is somebody else than root and nothing but that.
std::optional<User> user_of(int pid) {
  std::optional<u32> uid = only_id(pid, "Uid"), gid = only_id(pid, "Gid");
  if (!uid || !gid || *uid == 0) return {};
  return User{*uid, *gid};
}

// In another user namespace, capabilities by the same names are lesser ones.
u64 capabilities_of(int pid) {
  struct stat its_own, ours;
  std::string name = "/proc/" + std::to_string(pid) + "/ns/user";
  if (stat(name.c_str(), &its_own) != 0 || stat("/proc/self/ns/user", &ours) != 0 || its_own.st_ino != ours.st_ino)
    return 0;
  return strtoull(remote::status_field(pid, "CapPrm").c_str(), nullptr, 16);
}

}  // namespace

void confine_for(const remote::Process& process) {
  std::optional<User> user = user_of(process.pid());
  u64 its_own = capabilities_of(process.pid()), any = kTrace | reading();
  if (geteuid() == 0 && user) {
    become(*user);
  } else if (permitted_capabilities() & kTrace) {
    if (geteuid() == 0) become(kNobody);
    its_own = 0;
  }
  keep_capabilities(its_own | any, its_own);
  u64 needed = process.can_be_read() ? its_own : any;
  keep_capabilities(needed, needed);
  confine({.memory = kMemory});
}

// libunwind may map all of the file.
void confine_for_core(const char* path) {
  struct stat s;
  u64 bytes = stat(path, &s) == 0 ? u64(s.st_size) : 0;
  u64 needed = reading();
  if (geteuid() == 0) become(kNobody);
  keep_capabilities(needed, needed);
  confine({.memory = kMemory + bytes});
}

void begin_request() {
  u64 used_s = clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1'000'000'000;
  rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, used_s + 1 + kRequest_s);
  setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace tprof
