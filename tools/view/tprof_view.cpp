// tprof-view: serves the pages of a directory on 127.0.0.1. `tprof view` becomes this program; nobody else should run
// it.
//
//   tprof-view TPROF PORT OPEN DIRECTORY
//
// TPROF: the path of tprof, which makes the pages. PORT: a number (0: any that is free), or "-". OPEN: "open" or "-".
// DIRECTORY: an absolute path. It reads names only; the files are read by the processes that it starts.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/printable.h"
#include "site.h"

namespace tprof::view {
namespace {

int g_wake[2];  // a pipe, by which signals reach the server

void wake(int signal) {
  int before = errno;
  char byte = char(signal);
  if (write(g_wake[1], &byte, 1) < 0) errno = before;  // full: it is awake
  errno = before;
}

// Handlers, since what is ignored would be ignored by the processes that are started, too.
void catch_signals() {
  if (pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(Fault::unreadable, std::string("no pipe: ") + strerror(errno));
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = wake;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaction(signal, &action, nullptr);
  action.sa_handler = [](int) {};
  sigaction(SIGPIPE, &action, nullptr);
}

// Whether to go on.
bool take_signals(Pages& pages) {
  bool goes_on = true;
  for (char signal; read(g_wake[0], &signal, 1) == 1;) goes_on &= signal == SIGCHLD;
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) pages.ended(pid, status);
  return goes_on;
}

// 128 bits in hexadecimal digits.
std::string new_token() {
  u8 bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw Error(Fault::unreadable, std::string("no random numbers: ") + strerror(errno));
  std::string out;
  char digits[3];
  for (u8 byte : bytes) {
    snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

void say_where(const std::string& directory, const std::string& address, int port) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string forward = std::to_string(port) + ":127.0.0.1:" + std::to_string(port);
  print(stdout, "tprof: serving " + printable(directory) + "\n  " + address +
                    "\nFrom another machine, first:\n  ssh -L " + forward + " " + printable(host) +
                    "\nCtrl-C ends it.\n");
  fflush(stdout);
}

// A file that leads a browser to the address, which every user of the machine could read in the arguments of a process.
class Doorstep {
 public:
  explicit Doorstep(const std::string& address) {
    const char* own = getenv("XDG_RUNTIME_DIR");
    const char* shared = getenv("TMPDIR");
    path_ = std::string(own && *own ? own : shared && *shared ? shared : "/tmp") + "/tprof-view-XXXXXX.html";
    constexpr int kSuffix = 5;
    int fd = mkostemps(path_.data(), kSuffix, O_CLOEXEC);  // for this user only
    std::string page = "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=" + address + "\">\n";
    bool written = fd >= 0 && write(fd, page.data(), page.size()) == ssize_t(page.size());
    int why = errno;
    if (fd >= 0) close(fd);
    if (!written) throw Error(Fault::unreadable, path_ + ": cannot be written: " + strerror(why));
  }
  ~Doorstep() { unlink(path_.c_str()); }
  Doorstep(const Doorstep&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// By $BROWSER or xdg-open, which says nothing into this terminal.
void open_browser(const std::string& path) {
  const char* chosen = getenv("BROWSER");
  std::string browser = chosen && *chosen ? chosen : "xdg-open";
  File nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  ChildOptions options{.in = nothing.fd(), .out = nothing.fd(), .err = nothing.fd(), .own_session = true};
  pid_t pid;
  if (int failed = start_child({browser, path}, options, pid))
    print(stderr, "tprof: " + printable(browser) + " cannot be started (" + strerror(failed) +
                      "); set BROWSER to a browser's command, or open the address above\n");
}

int serve(const std::string& tprof, const std::string& port, bool open, const std::string& directory) {
  catch_signals();
  Server server(port == "-" ? std::nullopt : std::optional(atoi(port.c_str())));
  const std::string token = new_token();
  const std::string address = "http://127.0.0.1:" + std::to_string(server.port()) + "/" + token + "/";
  Site site({token, server.port()}, tprof, directory);
  say_where(directory, address, server.port());
  std::optional<Doorstep> doorstep;
  if (open) {
    doorstep.emplace(address);
    open_browser(doorstep->path());
  }
  server.serve([&](std::string_view head) { return site.answer(head); }, g_wake[0],
               [&] { return take_signals(site.pages()); });
  return 0;
}

}  // namespace
}  // namespace tprof::view

int main(int argc, char** argv) {
  constexpr int kUsage = 2, kUnreadable = 3;  // as tprof's own
  if (argc != 5) return fprintf(stderr, "tprof-view is run by tprof view\n"), kUsage;
  try {
    return tprof::view::serve(argv[1], argv[2], argv[3] == std::string("open"), argv[4]);
  } catch (const tprof::Error& e) {
    tprof::print(stderr, "tprof: " + tprof::printable(e.what()) + "\n");
    return e.fault == tprof::Fault::usage ? kUsage : kUnreadable;
  } catch (const std::exception& e) {
    tprof::print(stderr, std::string("tprof: internal error: ") + e.what() + "\n");
    return kUnreadable;
  }
}
