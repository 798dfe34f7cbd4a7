#include "hang/look.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "base/directory.h"
#include "base/text_file.h"

namespace tprof::hang {
namespace {

std::string task(int pid, int tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

// The fields of a stat file from the third one on, which follow the name in brackets.
std::vector<std::string> stat_fields(const std::string& path) {
  std::string text = text_of_file(path);
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}
constexpr size_t kState = 0, kUserTicks = 11, kSystemTicks = 12, kStartTime = 19, kExitCode = 49;

// The sum of the numbers behind these names, of lines like "name: 12".
u64 sum_of(const std::string& path, std::initializer_list<const char*> names) {
  std::ifstream file(path);
  u64 sum = 0;
  for (std::string line; std::getline(file, line);)
    for (const char* name : names)
      if (line.starts_with(name)) sum += strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
  return sum;
}

bool is_ours(int pid, int tid) {
  std::ifstream file(task(pid, tid, "comm"));
  std::string name;
  std::getline(file, name);
  return name.starts_with("tprof");
}

}  // namespace

Look look_at(int pid, u64 start_time) {
  Look out;
  std::vector<std::string> stat = stat_fields("/proc/" + std::to_string(pid) + "/stat");
  if (stat.size() <= kExitCode || (start_time && strtoull(stat[kStartTime].c_str(), nullptr, 10) != start_time))
    return out;
  char state = stat[kState][0];
  if (state == 'Z' || state == 'X') {
    int status = atoi(stat[kExitCode].c_str());  // 0 as well if we may not know
    out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out.state = out.signal ? State::killed : State::ended;
    return out;
  }
  out.traced = state == 't';
  out.state = state == 'T' || out.traced ? State::stopped : State::alive;
  for (int tid : numbers_in("/proc/" + std::to_string(pid) + "/task")) {
    std::vector<std::string> own = stat_fields(task(pid, tid, "stat"));
    if (own.size() <= kSystemTicks) continue;
    ThreadLook& t = out.threads[tid];
    t.cpu_ticks = strtoull(own[kUserTicks].c_str(), nullptr, 10) + strtoull(own[kSystemTicks].c_str(), nullptr, 10);
    t.switches = sum_of(task(pid, tid, "status"), {"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"});
    t.io_bytes = sum_of(task(pid, tid, "io"), {"rchar:", "wchar:"});
  }
  return out;
}

State settled_state(int pid, const Look& before, const Look& now) {
  bool passing = now.traced && (!before.traced || has_moved(before, now, pid));
  return passing ? State::alive : now.state;
}

bool has_moved(const Look& before, const Look& now, int tid) {
  auto was = before.threads.find(tid), is = now.threads.find(tid);
  if (is == now.threads.end()) return false;
  if (was == before.threads.end()) return true;
  return was->second.switches != is->second.switches || was->second.cpu_ticks != is->second.cpu_ticks;
}

bool has_worked(const Look& before, const Look& now, int tid) {
  auto was = before.threads.find(tid), is = now.threads.find(tid);
  if (is == now.threads.end()) return false;
  ThreadLook from = was == before.threads.end() ? ThreadLook{} : was->second;
  u64 ticks_a_second = u64(sysconf(_SC_CLK_TCK));
  return is->second.switches - from.switches >= 100 || 10 * (is->second.cpu_ticks - from.cpu_ticks) >= ticks_a_second;
}

u64 moved_bytes(int pid, const Look& before, const Look& now) {
  u64 sum = 0;
  for (const auto& [tid, is] : now.threads) {
    auto was = before.threads.find(tid);
    u64 from = was == before.threads.end() ? 0 : was->second.io_bytes;
    if (is.io_bytes > from && !is_ours(pid, tid)) sum += is.io_bytes - from;
  }
  return sum;
}

}  // namespace tprof::hang
