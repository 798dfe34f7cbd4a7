#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "json/json.h"

namespace tprof::view {
namespace {

constexpr size_t kMostAtOnce = 4;         // processes that make pages
constexpr size_t kMostWaiting = 64;       // pages that wait for their turn
constexpr size_t kMostKept = 64;          // pages, and the reasons why there is none
constexpr u64 kMostBytes = u64(1) << 30;  // of the pages that are kept; the newest one may be larger
constexpr size_t kLongestPageHead = 16 << 20;
constexpr size_t kMostSaid = 4096;  // bytes of what a process says
constexpr u64 kNsPerSecond = 1'000'000'000;
constexpr u64 kFailsFor = 10 * kNsPerSecond;  // after that, who asks for a page that failed has it tried again

// A file that has no name. Throws Error.
std::shared_ptr<File> nameless_file() {
  std::error_code why;
  std::string directory = std::filesystem::temp_directory_path(why).string();
  if (why) throw Error(Fault::unreadable, "TMPDIR names no directory that can be used: " + why.message());
  int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::string name = directory + "/tprof-view-XXXXXX";
    fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd >= 0) unlink(name.c_str());
  }
  if (fd < 0) throw Error(Fault::unreadable, directory + ": no file can be made there: " + strerror(errno));
  return std::make_shared<File>(fd);
}

std::string read_bytes(const File& file, u64 begin, size_t most) {
  std::string out(most, '\0');
  size_t done = 0;
  for (ssize_t n; done < most && (n = pread(file.fd(), out.data() + done, most - done, off_t(begin + done))) > 0;)
    done += size_t(n);
  out.resize(done);
  return out;
}

u64 size_of(const File& file) {
  struct stat s;
  return fstat(file.fd(), &s) == 0 ? u64(s.st_size) : 0;
}

// What identifies the traces as they are now.
std::string identity(const std::vector<kineto::TraceFile>& traces) {
  std::string out;
  for (const kineto::TraceFile& trace : traces) {
    struct stat s {};
    if (lstat(trace.path.c_str(), &s) != 0) s = {};
    for (u64 number : {u64(s.st_size), u64(s.st_ino), u64(s.st_mtim.tv_sec), u64(s.st_mtim.tv_nsec)})
      out += std::to_string(number) + " ";
    out += trace.path + '\0';
  }
  return out;
}

// By what `tprof page` has written (report/page.h); nothing where that is no page.
std::shared_ptr<const Page> page_in(const std::shared_ptr<File>& file) {
  std::string head = read_bytes(*file, 0, 64 << 10);
  u64 size = size_of(*file);
  if (head.find('\n') == std::string::npos) head = read_bytes(*file, 0, kLongestPageHead);
  size_t end = head.find('\n');
  if (end == std::string::npos) return nullptr;
  Json said = bounded_json(head.substr(0, end));
  if (!said.is_object() || !said["policy"].is_string() || !said["sizes"].is_array() || said["sizes"].empty())
    return nullptr;
  auto out = std::make_shared<Page>();
  out->policy = said["policy"].text();
  out->bytes = size;
  u64 at = end + 1;
  for (const auto& bytes : said["sizes"]) {
    if (!bytes.is_natural() || bytes.natural() > size - at) return nullptr;
    out->parts.push_back({file, at, bytes.natural()});
    at += bytes.natural();
  }
  out->html = out->parts.front();
  out->parts.erase(out->parts.begin());
  return out;
}

// Why there is no page, where a process ended with this status.
std::string reason(const File& said, int status) {
  std::string text = read_bytes(said, 0, kMostSaid), out;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    out += printable(text.substr(at, end - at)) + "\n";
  }
  if (WIFSIGNALED(status))
    out += WTERMSIG(status) == SIGALRM ? "Making the page took too long."
                                       : "What makes the page was ended by signal " + std::to_string(WTERMSIG(status)) +
                                             " (" + strsignal(WTERMSIG(status)) + ").";
  return out.empty() ? "No page was made." : out;
}

}  // namespace

File::~File() { close(fd_); }

Pages::Pages(std::string tprof, std::string directory)
    : tprof_(std::move(tprof)),
      directory_(std::move(directory)),
      at_once_(std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, kMostAtOnce)) {}

Pages::~Pages() {
  for (auto& [_, wish] : wishes_)
    if (wish.pid) kill(wish.pid, SIGKILL), wait_for_child(wish.pid);
}

Pages::Answer Pages::ask(const std::vector<kineto::TraceFile>& traces) {
  std::string key = identity(traces);
  auto found = wishes_.find(key);
  auto has_failed = [](const Wish& wish) { return wish.done() && !wish.page; };
  if (found != wishes_.end() && has_failed(found->second) &&
      clock_ns(CLOCK_MONOTONIC) - found->second.done_ns > kFailsFor) {
    kept_.remove(key);
    wishes_.erase(found);
    found = wishes_.end();
  }
  if (found == wishes_.end()) {
    if (queue_.size() >= kMostWaiting) return {.state = State::too_many};
    found =
        wishes_.emplace(key, Wish{.number = ++numbers_, .asked_ns = clock_ns(CLOCK_MONOTONIC), .traces = traces}).first;
    queue_.push_back(key);
    start_next();
  }
  Wish& wish = found->second;
  if (!wish.done())
    return {.state = State::waits, .seconds = (clock_ns(CLOCK_MONOTONIC) - wish.asked_ns) / kNsPerSecond};
  auto at = std::find(kept_.begin(), kept_.end(), key);
  kept_.splice(kept_.end(), kept_, at);
  return {.state = wish.page ? State::ready : State::failed, .page = wish.page, .why = wish.why};
}

std::shared_ptr<const Page> Pages::find(u64 number) const {
  for (const auto& [_, wish] : wishes_)
    if (wish.number == number) return wish.page;
  return nullptr;
}

void Pages::ended(pid_t pid, int status) {
  auto is_it = [&](const auto& entry) { return entry.second.pid == pid; };
  auto found = std::find_if(wishes_.begin(), wishes_.end(), is_it);
  if (found == wishes_.end()) return;
  auto& [key, wish] = *found;
  constexpr int kPartial = 4;  // exit_codes.h of the tool: the page says what it lacks
  bool made = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kPartial);
  if (made) wish.page = page_in(wish.out);
  if (!wish.page) wish.why = reason(*wish.said, status);
  wish.pid = 0;
  wish.out = wish.said = nullptr;
  running_--;
  keep(key);
  start_next();
}

void Pages::start_next() {
  while (running_ < at_once_ && !queue_.empty()) {
    std::string key = queue_.front();
    queue_.pop_front();
    Wish& wish = wishes_.at(key);
    try {
      start(wish);
      running_++;
    } catch (const Error& e) {
      wish.why = e.what();
      keep(key);
    }
    wish.traces.clear();
  }
}

// The process reads the fields of its traces, each with a zero byte behind it, from a file.
void Pages::start(Wish& wish) {
  std::string fields;
  for (const kineto::TraceFile& trace : wish.traces)
    for (const std::string* field : {&trace.run, &trace.worker, &trace.span, &trace.path}) fields += *field + '\0';
  File in(memfd_create("tprof-view", MFD_CLOEXEC));
  if (pwrite(in.fd(), fields.data(), fields.size(), 0) != ssize_t(fields.size()))
    throw Error(Fault::unreadable, std::string("the names of the traces cannot be handed over: ") + strerror(errno));
  wish.out = nameless_file();
  wish.said = nameless_file();
  ChildOptions options{.in = in.fd(), .out = wish.out->fd(), .err = wish.said->fd()};
  std::string parts = "parts/" + std::to_string(wish.number) + "/";
  int failed = start_child({tprof_, "page", "--below", directory_, "--parts", parts}, options, wish.pid);
  if (failed) throw Error(Fault::unreadable, tprof_ + " cannot be started: " + strerror(failed));
}

// What is done is kept, and makes room for itself.
void Pages::keep(const std::string& key) {
  wishes_.at(key).done_ns = clock_ns(CLOCK_MONOTONIC);
  kept_.push_back(key);
  auto too_much = [&] {
    u64 bytes = 0;
    for (const std::string& key : kept_) {
      const Wish& wish = wishes_.at(key);
      bytes += wish.page ? wish.page->bytes : 0;
    }
    return kept_.size() > kMostKept || bytes > kMostBytes;
  };
  while (kept_.front() != key && too_much()) {
    wishes_.erase(kept_.front());
    kept_.pop_front();
  }
}

}  // namespace tprof::view
