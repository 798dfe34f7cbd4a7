#include "symbols/source_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/child.h"
#include "base/ownership.h"
#include "base/plain_file.h"

namespace tprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Bounds kBounds{.memory = u64(16) << 30, .cpu_s = 60};
const std::string kFile = "/proc/self/fd/" + std::to_string(kChildFile);  // as the tool is told

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

// A confined child process that reads requests from its stdin and writes responses to its stdout. It gets `file` as
// kFile.
class Child {
 public:
  Child(const std::vector<std::string>& words, int file) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    // A socket and no pipe: a write raises no SIGPIPE if the reader has gone.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
      failed_ = errno;
      return;
    }
    if (pipe2(out, O_CLOEXEC) != 0) {
      failed_ = errno;
      close(in[0]), close(in[1]);
      return;
    }
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    // The child is not profiled, and fetches nothing from debug servers.
    ChildOptions options{.environment = {{"LD_PRELOAD", ""}, {"DEBUGINFOD_URLS", ""}},
                         .in = in[0],
                         .out = out[1],
                         .err = null,
                         .file = file,
                         .confined = kBounds};
    failed_ = start_child(words, options, pid_);
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
    kill(-pid_, SIGKILL);  // it has a session of its own
    wait_for_child(pid_);
  }
  Child(const Child&) = delete;
  int failed() const { return failed_; }  // errno of what kept it from running; 0: it runs

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
  int to_ = -1, from_ = -1, failed_ = 0;
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

struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  const int fd;
};

// Why a file is kept from the tool, as the rest of a sentence; empty: it is not. `kind`: of what is no file, else 0.
std::string why_not_given(int file, mode_t kind, const std::string& path) {
  struct stat s;
  if (kind) return "it is no file";
  if (file < 0 || fstat(file, &s) != 0) return strerror(errno);
  if (!only_root_and_we_can_change(file, path)) return "others than root and you can change it";
  if (geteuid() == 0 && !(s.st_mode & S_IROTH)) return "for root they are read as nobody, who may not read it";
  return "";
}

}  // namespace

std::string line_tool() {
  std::string tool = on_path("llvm-symbolizer");
  return tool.empty() ? on_path("addr2line") : tool;
}

std::vector<SourceLine> source_lines(const std::string& elf, const std::vector<u64>& addresses, int timeout_ms,
                                     std::string& why_not) {
  std::vector<SourceLine> lines(addresses.size());
  std::string tool = line_tool(), requests;
  if (tool.empty() || addresses.empty()) return lines;
  mode_t kind;
  Descriptor file(open_plain_at(AT_FDCWD, elf.c_str(), O_RDONLY, kind));
  why_not = why_not_given(file.fd, kind, elf);
  if (!why_not.empty()) return lines;
  char text[32];
  for (u64 address : addresses) {
    snprintf(text, sizeof text, "0x%llx\n", static_cast<unsigned long long>(address));
    requests += text;
  }
  std::vector<std::string> words{tool};
  if (tool.ends_with("llvm-symbolizer"))
    for (const char* word : {"--output-style=GNU", "--functions=none", "--no-inlines"}) words.push_back(word);
  words.insert(words.end(), {"-e", kFile});
  Child child(words, file.fd);
  if (child.failed()) {
    why_not = tool + " cannot be started" + (geteuid() ? "" : " as nobody") + ": " + strerror(child.failed());
    return lines;
  }
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
