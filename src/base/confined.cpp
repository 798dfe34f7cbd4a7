#include "base/confined.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tprof {
namespace {

struct Limit {  // of the system call, on all architectures
  u64 soft, hard;
};

__user_cap_header_struct own_header() { return {_LINUX_CAPABILITY_VERSION_3, 0}; }

}  // namespace

void lower_limit(int resource, u64 most) {
  Limit limit;
  if (syscall(SYS_prlimit64, 0, resource, nullptr, &limit) != 0) return;
  if (limit.soft > most) limit.soft = most;
  if (limit.hard > most) limit.hard = most;
  syscall(SYS_prlimit64, 0, resource, &limit, nullptr);
}

// Without a session of its own it could type into the terminal from which tprof was started.
void confine(const Bounds& bounds) {
  setsid();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  lower_limit(RLIMIT_CORE, 0);
  lower_limit(RLIMIT_AS, bounds.memory);
  if (bounds.cpu_s) lower_limit(RLIMIT_CPU, bounds.cpu_s);
}

// libc's functions of these names would change every thread of the process.
bool become(User user) {
  prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  return syscall(SYS_setgroups, 0, nullptr) == 0 && syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

u64 permitted_capabilities() {
  __user_cap_header_struct header = own_header();
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].permitted | u64(data[1].permitted) << 32;
}

void keep_capabilities(u64 permitted, u64 effective) {
  permitted &= permitted_capabilities();
  effective &= permitted;
  __user_cap_header_struct header = own_header();
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{u32(effective), u32(permitted), 0},
                                                           {u32(effective >> 32), u32(permitted >> 32), 0}};
  syscall(SYS_capset, &header, data);
}

void become_harmless() {
  if (syscall(SYS_geteuid) == 0) become(kNobody);
  keep_capabilities(0, 0);
}

}  // namespace tprof
