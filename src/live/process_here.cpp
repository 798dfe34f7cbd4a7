#include "live/process_here.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "base/directory.h"
#include "base/process.h"

namespace tprof::live {
namespace {

// The number of a process in its own container: the last one of NSpid.
u32 own_number(int pid) {
  char text[4096];
  if (read_small_file(("/proc/" + std::to_string(pid) + "/status").c_str(), text, sizeof text) <= 0) return u32(pid);
  const char* at = strstr(text, "\nNSpid:");
  if (!at) return u32(pid);  // Linux before 4.1
  u32 number = u32(pid);
  char* end = nullptr;
  for (at += strlen("\nNSpid:"); *at && *at != '\n'; at = end) {
    u32 next = u32(strtoul(at, &end, 10));
    if (end == at) break;
    number = next;
    while (*end == '\t' || *end == ' ') end++;
  }
  return number;
}

// Whether a process of this boot that is not in /proc has ended: one of another container may just not be seen from
// here, and has another host name.
bool would_be_seen(const char* host) {
  constexpr char kInitial[] = "pid:[4026531836]";  // PROC_PID_INIT_INO: from outside of all containers
  char name[sizeof FileHeader::host] = {}, space[64] = {};
  gethostname(name, sizeof name - 1);
  return !strcmp(name, host) ||
         (readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0 && !strcmp(space, kInitial));
}

}  // namespace

ProcessHere ProcessesHere::writer_of(const FileHeader& header) {
  ProcessIdentity same = process_identity(int(header.pid));
  if (!same.boot_id[0] || strcmp(same.boot_id, header.boot_id) != 0) return {};
  if (!header.process_start) return {0, would_be_seen(header.host)};
  if (same.start_time == header.process_start && own_number(int(header.pid)) == header.pid)
    return {int(header.pid), true};
  if (!all_) {
    all_.emplace();
    for (int pid : numbers_in("/proc"))
      if (u64 start = process_identity(pid).start_time) all_->emplace(Own{own_number(pid), start}, pid);
  }
  auto found = all_->find({header.pid, header.process_start});
  if (found != all_->end()) return {found->second, true};
  return {0, would_be_seen(header.host)};
}

}  // namespace tprof::live
