#include "collect/native/stack_ranges.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" void* __libc_stack_end;  // set by the loader: the start of the main thread's stack

namespace tprof {

StackRange main_stack() {
  constexpr u64 kGap = 128 << 20;  // the kernel maps nothing else so near below the main thread's stack
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  u64 high = reinterpret_cast<u64>(__libc_stack_end);
  return {high - (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < kGap ? kGap : limit.rlim_cur), high};
}

StackRange thread_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low;
  size_t bytes;
  StackRange range;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) range = {u64(low), u64(low) + bytes};
  pthread_attr_destroy(&attributes);
  return range;
}

StackRange signal_stack(u64 at) {
  int saved = errno;
  stack_t stack;
  StackRange range;
  if (sigaltstack(nullptr, &stack) == 0 && !(stack.ss_flags & SS_DISABLE))
    range = {reinterpret_cast<u64>(stack.ss_sp), reinterpret_cast<u64>(stack.ss_sp) + stack.ss_size};
  errno = saved;
  return range.holds(at) ? range : StackRange{};
}

// The kernel copies the set of signals before it looks at what is to be done with it.
bool can_read(u64 at) {
  int saved = errno;
  constexpr int kNothing = -1;
  bool can = syscall(SYS_rt_sigprocmask, kNothing, at, nullptr, 8) != 0 && errno == EINVAL;
  errno = saved;
  return can;
}

}  // namespace tprof
