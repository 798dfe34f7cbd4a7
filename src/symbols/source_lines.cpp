#include "symbols/source_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/child.h"

namespace tprof {
namespace {

using Clock = std::chrono::steady_clock;

std::string on_path(const char* name) {
  const char* path = getenv("PATH");
  std::string rest = path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= rest.size();) {
    size_t end = std::min(rest.find(':', at), rest.size());
    std::string file = rest.substr(at, end - at) + "/" + name;
    if (end > at && access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return {};
}

// A child process that reads requests from its stdin and writes responses to its stdout.
class Child {
 public:
  explicit Child(const std::vector<std::string>& words) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    // A socket and no pipe: a write raises no SIGPIPE if the reader has gone.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) return;
    if (pipe2(out, O_CLOEXEC) != 0) {
      close(in[0]), close(in[1]);
      return;
    }
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    // The child is not profiled, and fetches nothing from debug servers.
    ChildOptions options{{{"LD_PRELOAD", ""}, {"DEBUGINFOD_URLS", ""}}, in[0], out[1], null};
    if (start_child(words, options, pid_) != 0) pid_ = 0;
    if (null >= 0) close(null);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Child() {
    if (to_ >= 0) close(to_);
    if (from_ >= 0) close(from_);
    if (!pid_) return;
    kill(pid_, SIGKILL);
    wait_for_child(pid_);
  }
  Child(const Child&) = delete;
  bool runs() const { return pid_ != 0; }

  // Sends all requests; returns the responses that came until `deadline`.
  std::string exchange(const std::string& requests, Clock::time_point deadline) {
    std::string responses;
    for (size_t sent = 0;;) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd waits[2] = {{from_, POLLIN, 0}, {to_, POLLOUT, 0}};
      if (left <= 0 || poll(waits, to_ >= 0 ? 2 : 1, static_cast<int>(left)) <= 0) return responses;
      if (to_ >= 0 && waits[1].revents) {
        ssize_t n = send(to_, requests.data() + sent, requests.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) sent += static_cast<size_t>(n);
        if (sent == requests.size() || (n < 0 && errno != EAGAIN && errno != EINTR)) {
          close(to_);
          to_ = -1;
        }
      }
      if (!waits[0].revents) continue;
      char buffer[1 << 16];
      ssize_t n = read(from_, buffer, sizeof buffer);
      if (n == 0 || (n < 0 && errno != EINTR)) return responses;
      if (n > 0) responses.append(buffer, static_cast<size_t>(n));
    }
  }

 private:
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
};

// "file:line", "file:line (discriminator 3)", "??:0", "file:?".
SourceLine parse(const std::string& text) {
  size_t end = text.find(" (");
  if (end == std::string::npos) end = text.size();
  size_t colon = text.rfind(':', end);
  if (colon == std::string::npos || text.starts_with("??")) return {};
  u32 line = u32(strtoul(text.c_str() + colon + 1, nullptr, 10));
  return line ? SourceLine{text.substr(0, colon), line} : SourceLine{};
}

}  // namespace

std::string line_tool() {
  std::string tool = on_path("llvm-symbolizer");
  return tool.empty() ? on_path("addr2line") : tool;
}

std::vector<SourceLine> source_lines(const std::string& elf, const std::vector<u64>& addresses, int timeout_ms) {
  std::vector<SourceLine> lines(addresses.size());
  std::string tool = line_tool(), requests;
  if (tool.empty() || addresses.empty()) return lines;
  char text[32];
  for (u64 address : addresses) {
    snprintf(text, sizeof text, "0x%llx\n", static_cast<unsigned long long>(address));
    requests += text;
  }
  std::vector<std::string> words{tool};
  if (tool.ends_with("llvm-symbolizer"))
    for (const char* word : {"--output-style=GNU", "--functions=none", "--no-inlines"}) words.push_back(word);
  words.insert(words.end(), {"-e", elf});
  Child child(words);
  if (!child.runs()) return lines;
  std::string responses = child.exchange(requests, Clock::now() + std::chrono::milliseconds(timeout_ms));
  size_t at = 0;
  for (SourceLine& line : lines) {
    size_t end = responses.find('\n', at);
    if (end == std::string::npos) break;  // an incomplete response is none
    line = parse(responses.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace tprof
