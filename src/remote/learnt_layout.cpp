// Learns the layout of a Python that does not publish it (3.8 to 3.12) from a second process of the same program. That
// process describes two of its threads, whose frames are known to the instruction, and a sample of its code objects,
// and then waits. Its memory, which does not change any more, is searched for the offsets at which all of this is
// found.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <sstream>
#include <unordered_map>

#include "base/child.h"
#include "base/error.h"
#include "remote/process.h"
#include "remote/python_layout.h"

namespace tprof::remote {
namespace {

constexpr i32 kBytesLength = 16, kBytesData = 32;  // in a bytes object, in every version so far
constexpr i32 kThreadInterpreter = 16;             // in a thread state: its interpreter, likewise
constexpr i32 kTypeBasicSize = 32;                 // PyTypeObject::tp_basicsize
constexpr u16 kOldest = 3 << 8 | 8, kFramesApart = 3 << 8 | 11;
constexpr int kPatience_ms = 10'000;
constexpr size_t kMaxText = 1 << 20;  // of the description

// Prints lines: "python <version>", "thread <pthread_t> <kernel id> (<code> <offset>)...", "code <object> <name> <file>
// <table> <first line>", "done". Of each thread the innermost frame comes first.
constexpr char kScript[] = R"PY(
import _thread, os, sys
def chain(frame):
    words = []
    while frame is not None:
        words += ('%d %d' % (id(frame.f_code), frame.f_lasti),)
        frame = frame.f_back
    return ' '.join(words)
lock, ready = _thread.allocate_lock(), _thread.allocate_lock()
lock.acquire(); ready.acquire()
numbers = []
def native():
    return getattr(_thread, 'get_native_id', lambda: 0)()
def waits(n):
    numbers.append((_thread.get_ident(), native()))
    ready.release()
    lock.acquire()
def deeper(n):
    return deeper(n - 1) if n else waits(n)
def tells(n):
    table = 'co_linetable' if sys.version_info >= (3, 10) else 'co_lnotab'
    keep = []
    print('python', sys.version_info[0], sys.version_info[1], getattr(sys, 'abiflags', '') or '-')
    for f in (chain, native, waits, deeper, tells, holds, os.path.join, os.path.split, os.walk):
        c = f.__code__
        t = getattr(c, table)
        keep.append(t)
        print('code', id(c), id(c.co_name), id(c.co_filename), id(t), c.co_firstlineno)
    ident = numbers[0][0]
    print('thread', ident, numbers[0][1], chain(sys._current_frames()[ident]))
    print('thread', _thread.get_ident(), native(), chain(sys._getframe()))
    print('done', flush=True)
    return sys.stdin.read()
def holds(n):
    return [holds(n - 1) for _ in (1,)][0] if n else tells(n)
_thread.start_new_thread(deeper, (4,))
ready.acquire()
holds(3)
)PY";

struct Thread {
  u64 pthread = 0, native = 0;
  std::vector<u64> code;
  std::vector<i64> at;  // f_lasti
};

struct Code {
  u64 object, name, file, table;
  i32 first_line;
};

struct Description {
  u16 python = 0;
  std::string flags;
  std::vector<Thread> threads;
  std::vector<Code> codes;
  bool done = false;
};

Description parse(const std::string& text) {
  Description d;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "python") {
      u32 major = 0, minor = 0;
      words >> major >> minor >> d.flags;
      d.python = u16(major << 8 | minor);
    } else if (what == "thread") {
      Thread t;
      words >> t.pthread >> t.native;
      u64 code;
      for (i64 at; words >> code >> at;) t.code.push_back(code), t.at.push_back(at);
      d.threads.push_back(std::move(t));
    } else if (what == "code") {
      Code c;
      if (words >> c.object >> c.name >> c.file >> c.table >> c.first_line) d.codes.push_back(c);
    } else if (what == "done") {
      d.done = true;
    }
  }
  return d;
}

// The second process, which ends with this object.
class Second {
 public:
  // Empty, or why it could not be started.
  std::string start(const std::string& program, u32 user) {
    // The program may be another user's: it gets none of our environment.
    std::vector<std::string> command{"env", "-i", "PATH=/usr/bin:/bin", program, "-I", "-S", "-c", kScript};
    if (user != geteuid()) {
      if (geteuid() != 0) return "it belongs to another user";
      std::string id = std::to_string(user);
      command.insert(command.begin(), {"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups", "--"});
    }
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return "there are no descriptors left";
    in_ = in[1];
    // Nor does it get our terminal: what that user has put there may not read it nor type into it.
    nowhere_ = open("/dev/null", O_RDWR | O_CLOEXEC);
    ChildOptions options{.environment = {{"LD_PRELOAD", ""}}, .in = in[0], .err = nowhere_, .own_session = true};
    if (nowhere_ < 0 || pipe2(out, O_CLOEXEC) != 0) return close(in[0]), "there are no descriptors left";
    options.out = out[1];
    out_ = out[0];
    int failed = start_child(command, options, pid_);
    close(in[0]);
    close(out[1]);
    return failed ? program + " cannot be started: " + strerror(failed) : "";
  }
  ~Second() {
    if (in_ >= 0) close(in_);
    if (out_ >= 0) close(out_);
    if (nowhere_ >= 0) close(nowhere_);
    if (pid_ > 0) kill(pid_, SIGKILL), wait_for_child(pid_);
  }

  Description description() const {
    std::string text;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience_ms);
    while (text.find("done\n") == std::string::npos && text.size() < kMaxText) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd waiting{out_, POLLIN, 0};
      char bytes[4096];
      if (left <= 0 || poll(&waiting, 1, int(left)) <= 0) break;
      ssize_t n = ::read(out_, bytes, sizeof bytes);
      if (n <= 0) break;
      text.append(bytes, size_t(n));
    }
    return parse(text);
  }
  int pid() const { return pid_; }

 private:
  int in_ = -1, out_ = -1, nowhere_ = -1;
  pid_t pid_ = -1;
};

// The memory of a process that waits, page by page. What cannot be read is zero.
class Still {
 public:
  explicit Still(const Memory& memory) : memory_(memory) {}

  template <class T>
  T at(u64 address) const {
    T value;
    for (size_t done = 0; done < sizeof value;) {
      u64 here = address + done, in_page = here % kPage;
      size_t bytes = std::min<size_t>(sizeof value - done, kPage - in_page);
      memcpy(reinterpret_cast<char*>(&value) + done, page(here / kPage) + in_page, bytes);
      done += bytes;
    }
    return value;
  }
  // An address that may be that of an object; else 0.
  u64 pointer(u64 address) const {
    u64 value = at<u64>(address);
    return value < kPage || value & 7 || value >> 47 ? 0 : value;
  }

 private:
  static constexpr u64 kPage = 4096;
  const char* page(u64 number) const {
    auto [page, added] = pages_.try_emplace(number);
    if (added) {
      page->second.resize(kPage);
      memory_.read(number * kPage, page->second.data(), kPage);
    }
    return page->second.data();
  }
  const Memory& memory_;
  mutable std::unordered_map<u64, std::string> pages_;
};

class Learner {
 public:
  Learner(const Memory& memory, const Description& d, PythonLayout& layout) : still_(memory), d_(d), layout_(layout) {}

  const char* run() {
    if (!learn_codes()) return "its code objects are laid out in an unknown way";
    if (!learn_threads()) return "its threads are laid out in an unknown way";
    if (!learn_frames()) return "its frames are laid out in an unknown way";
    return "";
  }

 private:
  template <class T, class Value>
  i32 offset_in_code(Value value) const {
    for (i32 offset = 16; offset < 256; offset += i32(sizeof(T))) {
      bool all = true;
      for (const Code& c : d_.codes) all &= still_.at<T>(c.object + u64(offset)) == value(c);
      if (all) return offset;
    }
    return -1;
  }

  bool learn_codes() {
    if (d_.codes.size() < 4) return false;
    for (const Code& c : d_.codes)
      if (still_.at<u64>(c.object + 8) != layout_.code_type) return false;
    layout_.name = offset_in_code<u64>([](const Code& c) { return c.name; });
    layout_.file = offset_in_code<u64>([](const Code& c) { return c.file; });
    layout_.table = offset_in_code<u64>([](const Code& c) { return c.table; });
    layout_.first_line = offset_in_code<i32>([](const Code& c) { return c.first_line; });
    return layout_.name >= 0 && layout_.file >= 0 && layout_.table >= 0 && layout_.first_line >= 0;
  }

  // The thread states of the interpreter, by the offset at which they hold a number of the thread's.
  bool holds_both(u64 first, i32 offset, u64 Thread::*number) {
    states_.clear();
    u64 state = first;
    for (int i = 0; state && i < 4; i++, state = still_.pointer(state + u64(layout_.next_thread)))
      for (const Thread& t : d_.threads)
        if (t.*number && still_.at<u64>(state + u64(offset)) == t.*number) states_[t.pthread] = state;
    return states_.size() == d_.threads.size();
  }

  bool learn_threads() {
    constexpr u64 kRuntimeBytes = 2048, kInterpreterBytes = 16384, kStateBytes = 512;
    for (u64 r = 0; r < kRuntimeBytes; r += 8) {
      u64 interpreter = still_.pointer(layout_.runtime + r);
      if (!interpreter) continue;
      for (u64 i = 0; i < kInterpreterBytes; i += 8) {
        u64 state = still_.pointer(interpreter + i);
        if (!state || still_.at<u64>(state + kThreadInterpreter) != interpreter) continue;
        for (u64 offset = 24; offset < kStateBytes; offset += 8) {
          if (!holds_both(state, i32(offset), &Thread::pthread)) continue;
          layout_.interpreters = i32(r);
          layout_.threads = i32(i);
          layout_.thread_id = i32(offset);
          // From 3.11 on the kernel's id follows.
          auto states = states_;
          if (holds_both(state, i32(offset) + 8, &Thread::native)) layout_.native_id = i32(offset) + 8;
          states_ = states;
          return true;
        }
      }
    }
    return false;
  }

  u64 code_of(u64 frame, i32 offset) const { return still_.at<u64>(frame + u64(offset)) & ~u64(7); }

  // The frames of a thread's chain; the interpreter's own may lie between. Empty: they do not follow.
  std::vector<u64> follow(const Thread& t, const PythonLayout& f) const {
    constexpr int kMaxBetween = 2;
    u64 frame = still_.pointer(states_.at(t.pthread) + u64(f.first));
    if (frame && f.second >= 0) frame = still_.pointer(frame + u64(f.second));
    std::vector<u64> out;
    for (int between = 0; frame && out.size() < t.code.size(); frame = still_.pointer(frame + u64(f.previous))) {
      if (code_of(frame, f.code) == t.code[out.size()])
        out.push_back(frame), between = 0;
      else if (++between > kMaxBetween)
        break;
    }
    return out.size() == t.code.size() ? out : std::vector<u64>{};
  }

  // Frames of the first thread do not run any more, but for the innermost one, which may have been described a moment
  // before it began to wait.
  bool learn_instruction(const std::vector<u64>& frames, const Thread& t, PythonLayout& f) const {
    bool apart = d_.python >= kFramesApart;
    u64 basic_size = still_.at<u64>(layout_.code_type + kTypeBasicSize);
    for (f.at = 16; f.at < 256; f.at += apart ? 8 : 4)
      for (int bytes : {1, 2}) {
        bool all = true;
        for (size_t i = 1; i < frames.size() && all; i++)
          all = apart ? still_.at<u64>(frames[i] + u64(f.at)) == t.code[i] + basic_size + u64(t.at[i])
                      : i64(still_.at<i32>(frames[i] + u64(f.at))) * bytes == t.at[i];
        if (!all) continue;
        f.at_bytes = apart ? 0 : bytes;
        f.instructions = apart ? i32(basic_size) : -1;
        f.entered = d_.python == kFramesApart ? f.at + 12 : -1;  // after the instruction and the height of the stack
        return true;
      }
    return false;
  }

  bool learn_frames() {
    const Thread& t = d_.threads[0];
    PythonLayout f = layout_;
    for (f.first = 24; f.first < 400; f.first += 8)
      for (f.second = -8; f.second <= 32; f.second += 8)
        for (f.code = 0; f.code <= 64; f.code += 8)
          for (f.previous = 0; f.previous <= 96; f.previous += 8) {
            std::vector<u64> frames = follow(t, f);
            if (frames.empty() || !learn_instruction(frames, t, f) || follow(d_.threads[1], f).empty()) continue;
            layout_ = f;
            return true;
          }
    return false;
  }

  Still still_;
  const Description& d_;
  PythonLayout& layout_;
  std::map<u64, u64> states_;  // thread states by pthread_t
};

}  // namespace

std::string learnt_layout(const std::string& program, u32 user, PythonLayout& layout) {
  std::string failed = "its layout cannot be learnt: ";
  Second second;
  if (std::string why = second.start(program, user); !why.empty()) return failed + why;
  Description d = second.description();
  if (!d.done || d.threads.size() != 2) return failed + program + " -c does not run Python code";
  if (d.python < kOldest) return "it is older than Python 3.8";
  if (d.flags.find('t') != std::string::npos) return "it is a free-threaded Python";
  layout.python = d.python;
  try {
    std::unique_ptr<Process> process = Process::open(second.pid());
    FoundPython itself = find_python(*process, false);
    layout.runtime = itself.layout.runtime;
    layout.code_type = itself.layout.code_type;
    return Learner(*process, d, layout).run();
  } catch (const Error& e) {
    return failed + e.what();
  }
}

}  // namespace tprof::remote
