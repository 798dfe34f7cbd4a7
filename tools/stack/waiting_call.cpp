#include "waiting_call.h"

#include <stdio.h>
#include <sys/syscall.h>

#include "base/process.h"

#ifndef SYS_epoll_pwait2  // newer than the headers of some systems that this is built on
#define SYS_epoll_pwait2 441
#endif

namespace tprof {
namespace {

struct Row {
  i64 number;
  const char* name;
  bool again;
};
constexpr Row kRows[] = {
#define CALL(name, again) {SYS_##name, #name, again},
#include "waiting_calls.def"
#undef CALL
};

const Row* row_of(i64 number) {
  for (const Row& row : kRows)
    if (row.number == number) return &row;
  return nullptr;
}

std::string task_file(pid_t tid, const char* name) {
  char text[256];
  std::string path = "/proc/" + std::to_string(tid) + "/" + name;
  int bytes = read_small_file(path.c_str(), text, sizeof text);
  return bytes > 0 ? std::string(text, size_t(bytes)) : "";
}

}  // namespace

i64 times_run(pid_t tid) {
  long long times = -1;
  return sscanf(task_file(tid, "schedstat").c_str(), "%*u %*u %lld", &times) == 1 ? times : -1;
}

std::optional<WaitingCall> waiting_call_of(pid_t tid) {
  WaitingCall out;
  std::string call = task_file(tid, "syscall");  // its number, six arguments, sp and pc; or "running"
  long long number;
  unsigned long long sp, pc;
  if (sscanf(call.c_str(), "%lld %*x %*x %*x %*x %*x %*x %llx %llx", &number, &sp, &pc) != 3) return {};
  const Row* row = row_of(number);
  if (!row) return {};
  out.name = row->name;
  out.sp = sp;
  out.pc = pc;
  out.seen = call;
  out.times_run = times_run(tid);
  return out;
}

bool is_made_again(i64 number) {
  const Row* row = row_of(number);
  return row && row->again;
}

}  // namespace tprof
