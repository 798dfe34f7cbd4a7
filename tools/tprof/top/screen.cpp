#include "top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/printable.h"

namespace tprof {
namespace {

// Alternate screen, no automatic wrap, no cursor; and the reverse.
constexpr std::string_view kEnter = "\033[?1049h\033[?7l\033[?25l\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?7h\033[?25h\033[?1049l";

// What a signal handler needs.
std::atomic<bool> g_taken{false};
bool g_has_modes = false;  // g_modes holds those of standard input
termios g_modes;
std::atomic<bool> g_resized{false}, g_stop{false}, g_continued{false};

// Async-signal-safe. If the terminal belongs to another job by now, its modes do, too.
void give_back() {
  if (!g_taken.exchange(false)) return;
  int saved = errno;
  [[maybe_unused]] ssize_t ignored = write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  if (g_has_modes && tcgetpgrp(STDIN_FILENO) == getpgrp()) tcsetattr(STDIN_FILENO, TCSANOW, &g_modes);
  errno = saved;
}

void take() {
  g_has_modes = tcgetattr(STDIN_FILENO, &g_modes) == 0;
  g_taken = true;
  if (g_has_modes) {
    termios modes = g_modes;
    modes.c_lflag &= ~tcflag_t(ICANON | ECHO);
    modes.c_cc[VMIN] = 0;
    modes.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  }
  [[maybe_unused]] ssize_t ignored = write(STDOUT_FILENO, kEnter.data(), kEnter.size());
}

void end_by(int signal) {
  give_back();
  raise(signal);  // SA_RESETHAND: it has its default action again, and SA_NODEFER: it is not blocked
}

void note(int signal) { (signal == SIGWINCH ? g_resized : signal == SIGTSTP ? g_stop : g_continued) = true; }

// Those that do not end a process, and those that cannot be handled.
bool ends_process(int signal) {
  for (int other : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH})
    if (signal == other) return false;
  return true;
}

void set_handlers() {
  static char stack[64 << 10];  // for a handler after the stack has overflowed
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {}, was;
  action.sa_handler = end_by;
  action.sa_flags = int(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  sigaddset(&action.sa_mask, SIGTTOU);
  for (int signal = 1; signal <= SIGRTMAX; signal++) {
    if (!ends_process(signal) || sigaction(signal, nullptr, &was) != 0) continue;
    if (was.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
  struct sigaction noting = {};
  noting.sa_handler = note;
  for (int signal : {SIGWINCH, SIGTSTP, SIGCONT}) sigaction(signal, &noting, nullptr);
}

sigset_t handled_in_wait() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGWINCH, SIGTSTP, SIGCONT}) sigaddset(&set, signal);
  return set;
}

const char* color_of(LineLook look) {
  switch (look) {
    case LineLook::title: return "\033[7m";
    case LineLook::strong: return "\033[1m";
    case LineLook::warning: return "\033[1;31m";
    default: return "";
  }
}

// Arrows and the like come as sequences (ESC [ ... letter); none of them is a key of ours.
std::string without_sequences(std::string_view typed) {
  std::string out;
  for (size_t at = 0; at < typed.size(); at++) {
    if (typed[at] != '\033') {
      out += typed[at];
      continue;
    }
    if (at + 1 < typed.size() && (typed[at + 1] == '[' || typed[at + 1] == 'O')) at++;
    while (at + 1 < typed.size() && !(typed[at + 1] >= '@' && typed[at + 1] <= '~')) at++;
    at++;
  }
  return out;
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(size_t(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd p{STDOUT_FILENO, POLLOUT, 0};
      if (poll(&p, 1, 1000) == 0) return true;  // it does not take what it is sent: the next page may do better
    } else if (!(n < 0 && errno == EINTR)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Screen::Screen(bool color) : color_(color) {
  sigset_t set = handled_in_wait();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  set_handlers();
  take();
  measure();
}

Screen::~Screen() { give_back(); }

void Screen::measure() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    columns_ = size.ws_col;
    rows_ = size.ws_row;
  }
  shown_.clear();
}

// Stops as SIGTSTP does by default, and takes the terminal again when the program goes on.
void Screen::suspend() {
  give_back();
  struct sigaction by_default = {}, was;
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &by_default, &was);
  raise(SIGTSTP);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);  // here it stops
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigaction(SIGTSTP, &was, nullptr);
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCONT, &ignored, &was);  // the SIGCONT that ended the stop is forgotten
  sigaction(SIGCONT, &was, nullptr);
}

std::string Screen::wait(int milliseconds) {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  for (int signal : {SIGWINCH, SIGTSTP, SIGCONT}) sigdelset(&mask, signal);
  timespec time{milliseconds / 1000, long(milliseconds % 1000) * 1'000'000};
  int ready = ppoll(&p, keys_ ? 1 : 0, &time, &mask);
  if (g_stop.exchange(false)) {
    suspend();
    g_continued = true;
  }
  if (g_continued.exchange(false)) {
    give_back();  // it is taken still if the stop was not announced; another program may have changed it meanwhile
    take();
    g_resized = true;
  }
  if (g_resized.exchange(false)) measure();
  if (ready <= 0 || !(p.revents & (POLLIN | POLLHUP | POLLERR))) return "";
  char typed[64];
  ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
  if (n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN))) keys_ = isatty(STDIN_FILENO) && !(p.revents & POLLHUP);
  return without_sequences({typed, size_t(n > 0 ? n : 0)});
}

bool Screen::draw(const std::vector<PageLine>& lines) {
  std::string out;
  if (shown_.empty()) out = "\033[2J";
  shown_.resize(rows_);
  for (size_t row = 0; row < rows_ && row < lines.size(); row++) {
    std::string look = color_ ? color_of(lines[row].look) : "";
    std::string line = look + printable(lines[row].text) + (look.empty() ? "" : "\033[0m");
    if (line == shown_[row]) continue;
    shown_[row] = line;
    out += "\033[" + std::to_string(row + 1) + ";1H\033[2K" + line;
  }
  return out.empty() || write_all(out);
}

}  // namespace tprof
