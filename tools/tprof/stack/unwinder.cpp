#include "stack/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sstream>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/process.h"
#include "run/program_file.h"

namespace tprof {

std::string find_unwinder() { return find_program_beside("stack", "tprof-stack"); }

Unwinder::Unwinder(const std::vector<std::string>& subject) {
  std::string program = find_unwinder();
  if (program.empty())
    throw Error(
        Fault::unreadable,
        "this tprof was built without tprof-stack; --frames python shows Python frames, for native ones install "
        "libunwind-dev and build it again");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw Error(Fault::unreadable, std::string("no pipe: ") + strerror(errno));
  in_ = in[1];
  bool piped = pipe2(out, O_CLOEXEC) == 0;
  int failed = piped ? 0 : errno;
  if (piped) {
    out_ = out[0];
    ChildOptions options;
    options.in = in[0];
    options.out = out[1];
    std::vector<std::string> command{program};
    command.insert(command.end(), subject.begin(), subject.end());
    failed = start_child(command, options, pid_);
    close(out[1]);
  }
  close(in[0]);
  if (failed) throw Error(Fault::unreadable, program + " cannot be started: " + strerror(failed));
}

// At the end of its input it releases its thread and ends.
Unwinder::~Unwinder() {
  if (in_ >= 0) close(in_);
  if (out_ >= 0) close(out_);
  if (pid_ <= 0) return;
  for (int status = 0;;) {
    pid_t seen = waitpid(pid_, &status, WUNTRACED);
    if (seen == pid_ && WIFSTOPPED(status))
      kill(pid_, SIGKILL);
    else if (seen >= 0 || errno != EINTR)
      return;
  }
}

// For root it runs as the program's user (tools/stack/confinement.h), who may stop it, but not us. Where both are
// stopped and go on again, it may do so a little later.
void Unwinder::wait_for_answer() {
  constexpr int kLook_ms = 1000, kLooks = 2;
  pollfd answer{out_, POLLIN, 0};
  for (int looks = 0; poll(&answer, 1, kLook_ms) == 0;) {
    siginfo_t stop{};
    bool stopped = waitid(P_PID, id_t(pid_), &stop, WSTOPPED | WNOHANG | WNOWAIT) == 0 && stop.si_pid;
    looks = stopped ? looks + 1 : 0;
    if (looks < kLooks) continue;
    kill(pid_, SIGKILL);
    throw Error(Fault::unreadable, "somebody has stopped tprof-stack, so it was ended");
  }
}

std::string Unwinder::line() {
  size_t end;
  while ((end = pending_.find('\n')) == std::string::npos) {
    char bytes[1 << 14];
    wait_for_answer();
    ssize_t n = ::read(out_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(Fault::unreadable, "tprof-stack has ended unexpectedly");
    pending_.append(bytes, size_t(n));
  }
  std::string out = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return out;
}

// Who writes to a program that has ended gets SIGPIPE, which tprof stack ignores. What the program had to say is read
// next.
void Unwinder::send(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t n = write(in_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += size_t(n);
  }
}

std::optional<u64> Unwinder::release() {
  if (!held_) return {};
  held_ = false;
  send("release\n");
  std::istringstream words(line());
  std::string what;
  u64 ns = 0;
  if (!(words >> what >> ns) || what != "released") return {};
  return ns;
}

u64 Unwinder::cpu_ns() const {
  clockid_t clock;
  return clock_getcpuclockid(pid_, &clock) == 0 ? clock_ns(clock) : 0;
}

NativeStack Unwinder::stack_of(int tid) {
  release();
  send(std::to_string(tid) + "\n");
  std::string answer = line(), what, end;
  std::istringstream words(answer);
  words >> what;
  if (what == "error") throw Error(Fault::unreadable, answer.substr(what.size() + 1));
  NativeStack out;
  if (what == "in") words >> out.in_call;
  if (what != "stack" && what != "in") {
    int error = 0;
    words >> error;
    out.why = what == "gone"   ? "it has ended"
              : what == "busy" ? "it did not stop: it waits for a processor, or is in an uninterruptible sleep"
                               : remote::refusal(tid);
    return out;
  }
  held_ = true;
  words >> end;
  out.end = end == "whole" ? NativeStack::End::whole : end == "cut" ? NativeStack::End::cut : NativeStack::End::lost;
  for (std::string word; words >> word;) out.addresses.push_back(strtoull(word.c_str(), nullptr, 16));
  return out;
}

}  // namespace tprof
