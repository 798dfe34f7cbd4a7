#include "stack/stacks.h"

#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/secrets.h"
#include "base/text_file.h"
#include "remote/core.h"
#include "remote/images.h"
#include "remote/process.h"
#include "remote/python_reader.h"
#include "remote/thread_ids.h"
#include "stack/unwinder.h"
#include "symbols/interleave.h"
#include "symbols/line_table.h"
#include "symbols/symbols.h"

namespace tprof {
namespace {

constexpr size_t kMaxPythonFrames = 100'000;
constexpr size_t kMaxTableBytes = 1 << 30;                 // of line tables that are read
constexpr int kTries = 5;                                  // of a thread that does not stand still
constexpr char kEvaluates[] = "_PyEval_EvalFrameDefault";  // the interpreter's loop
constexpr u64 kMutexOwner = 8;                             // in glibc's pthread_mutex_t: the owner's id, 4 bytes

std::string task_file(int pid, int tid, const char* name) {
  return text_of_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name);
}

// What is read of a thread while it stands still. Names are looked up afterwards.
struct Taken {
  ThreadStack thread;
  NativeStack native;
  remote::PythonStack python;
  u64 futex = 0;       // the address that it waits at
  bool moved = false;  // it did not stand still
};

class Taker {
 public:
  Taker(const remote::Memory& memory, ProgramStacks& out, Frames frames)
      : memory_(memory), out_(out), frames_(frames), ids_(memory) {
    remote::FoundPython python = remote::find_python(memory);
    if (!python.is_python || frames == Frames::native) return;
    out_.why_not = python.why_not;
    if (u16 version = python.layout.python)
      out_.python = std::to_string(version >> 8) + "." + std::to_string(version & 255);
    if (out_.why_not.empty()) python_.emplace(memory, python.layout);
  }

  // Reads the Python threads, and which of the threads they are. `threads`: their ids, by those that they have in the
  // program itself, which may run in a container.
  void match_python_threads(std::map<int, int> threads) {
    threads_ = std::move(threads);
    if (!python_) return;
    states_.clear();
    std::vector<int> inside;
    for (const auto& [own, tid] : threads_) inside.push_back(own);
    for (const remote::PythonThread& t : python_->threads()) {
      int own = t.native ? int(t.native) : ids_.of(t.pthread, inside);
      if (auto tid = threads_.find(own); tid != threads_.end()) states_.try_emplace(tid->second, t);
    }
  }

  // While the thread stands still, or does not exist any more.
  Taken take(ThreadStack thread, NativeStack native, u64 futex) {
    Taken taken{std::move(thread), std::move(native), {}, futex};
    taken.thread.in_call = taken.native.in_call;
    if (auto state = states_.find(taken.thread.tid); state != states_.end()) {
      taken.thread.gil = python_->gil_holder() == state->second.state;
      taken.python = python_->stack_of(state->second, kMaxPythonFrames);
      for (const remote::PythonFrame& frame : taken.python.frames) python_->code_at(frame.code);
    }
    return taken;
  }

  void keep(Taken taken) { taken_.push_back(std::move(taken)); }

  void finish() {
    Symbols symbols(meta_);
    std::vector<u64> addresses;
    for (const Taken& t : taken_)
      addresses.insert(addresses.end(), t.native.addresses.begin(), t.native.addresses.end());
    if (!addresses.empty()) meta_ = remote::images_of(memory_);
    std::vector<CodeLocation> locations = symbols.locations_of(addresses);
    size_t next = 0;
    for (Taken& t : taken_) {
      t.thread.frames = merged(t, &locations[next]);
      next += t.native.addresses.size();
      t.thread.incomplete = incomplete(t);
      if (!t.thread.runs && !t.thread.died) find_wait(t);
      out_.threads.push_back(std::move(t.thread));
    }
    find_cycles();
  }

 private:
  ThreadFrame native_frame(const CodeLocation& location) const {
    ThreadFrame f;
    f.function = location.function;
    f.file = location.file.empty() ? location.image : std::filesystem::path(location.file).lexically_normal().string();
    f.line = location.line;
    f.offset = location.offset;
    return f;
  }

  ThreadFrame python_frame(const remote::PythonFrame& frame) {
    ThreadFrame f;
    f.python = true;
    if (const remote::PythonCode* code = python_->code_at(frame.code)) {
      f.function = code->name;
      f.file = code->file;
      f.line = line_at(*code, frame);
    }
    return f;
  }

  // 0: not known. A table is read from its start: those of a hostile program are as long as may be.
  u32 line_at(const remote::PythonCode& code, const remote::PythonFrame& frame) {
    auto [known, added] = lines_.try_emplace({frame.code, frame.offset});
    if (added && table_bytes_ < kMaxTableBytes) {
      table_bytes_ += code.lines.table.size();
      known->second = u32(std::max(line_of(code.lines, u64(frame.offset)), 0));
    }
    return known->second;
  }

  std::vector<ThreadFrame> merged(const Taken& t, const CodeLocation* locations) {
    std::vector<ThreadFrame> frames;
    std::vector<ChainFrame> native, python;
    for (size_t i = 0; i < t.native.addresses.size(); i++) {
      const std::string& function = locations[i].function;
      bool interpreter = locations[i].image.starts_with("python3") || locations[i].image.starts_with("libpython3");
      native.push_back({u32(frames.size()), function.starts_with(kEvaluates), interpreter});
      frames.push_back(native_frame(locations[i]));
    }
    for (const remote::PythonFrame& frame : t.python.frames) {
      python.push_back({u32(frames.size()), frame.entered, false});
      frames.push_back(python_frame(frame));
    }
    std::vector<ThreadFrame> out;
    for (u32 i : interleaved(native, python)) out.push_back(frames[i]);
    return out;
  }

  std::string incomplete(const Taken& t) const {
    if (t.moved) return "it ran while it was read, without being stopped";
    if (!t.python.whole) return "its Python frames changed while they were read";
    if (frames_ == Frames::python) return "";
    switch (t.native.end) {
      case NativeStack::End::whole: return "";
      case NativeStack::End::cut: return "only its innermost frames were read";
      case NativeStack::End::lost:
        return t.thread.in_call.empty() ? "its last frame's code has no unwind information"
                                        : "the caller of its last frame is not found without stopping it";
      case NativeStack::End::not_read: return t.native.why;
    }
    return "";
  }

  void find_wait(Taken& t) {
    Waiting waiting = waits_for(t.thread.frames);
    t.thread.waits = waiting.text;
    t.thread.wait = waiting.kind;
    if (t.thread.waits != "for a mutex" || !t.futex) return;
    int owner = memory_.get<i32>(t.futex + kMutexOwner).value_or(0);
    if (auto tid = threads_.find(owner); tid != threads_.end()) t.thread.owner = tid->second;
  }

  void find_cycles() {
    std::map<int, int> owners;
    for (const ThreadStack& t : out_.threads)
      if (t.owner) owners[t.tid] = t.owner;
    std::set<int> done;
    for (const auto& [tid, owner] : owners) {
      std::vector<int> path;
      int at = tid;
      while (owners.contains(at) && std::find(path.begin(), path.end(), at) == path.end() && !done.contains(at)) {
        path.push_back(at);
        at = owners[at];
      }
      auto start = std::find(path.begin(), path.end(), at);
      if (start != path.end()) out_.cycles.emplace_back(start, path.end());
      done.insert(path.begin(), path.end());
    }
  }

  const remote::Memory& memory_;
  ProgramStacks& out_;
  Frames frames_;
  Meta meta_;
  std::optional<remote::PythonReader> python_;
  std::map<int, int> threads_;  // by their ids in the program itself
  std::map<int, remote::PythonThread> states_;
  remote::ThreadIds ids_;
  std::vector<Taken> taken_;
  std::map<std::pair<u64, i64>, u32> lines_;  // by code object and offset
  size_t table_bytes_ = 0;                    // that were read for them
};

// From /proc/<pid>/task/<tid>/stat: the state's letter, after the name in brackets.
char state_of(int pid, int tid) {
  std::string stat = task_file(pid, tid, "stat");
  size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
}

// The address at which a thread waits in futex(), 0: it does not.
u64 futex_of(int pid, int tid) {
  std::istringstream words(task_file(pid, tid, "syscall"));
  u64 call = 0, address = 0;
  words >> call >> std::hex >> address;
  return words && call == SYS_futex ? address : 0;
}

// As tprof-stack has: the thread that is stopped waits for us. Only if this is allowed.
class HighPriority {
 public:
  HighPriority() { setpriority(PRIO_PROCESS, 0, -20); }
  ~HighPriority() { setpriority(PRIO_PROCESS, 0, before_); }
  HighPriority(const HighPriority&) = delete;

 private:
  int before_ = getpriority(PRIO_PROCESS, 0);
};

// The words of a command line, each with a NUL behind it, as a text without secrets: it goes into reports.
std::string text_of_command(std::string words) {
  std::string text(words.size() * 3, '\0');  // room for a *** in place of every character
  text.resize(mask_secrets(words.data(), int(words.size()), text.data(), int(text.size())));
  while (!text.empty() && !text.back()) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string command_of(int pid) { return text_of_command(text_of_file("/proc/" + std::to_string(pid) + "/cmdline")); }

// A core file has the beginning of it, where spaces part the words. Half a word does not always show that it is a
// secret.
std::string command_of(const remote::Core& core) {
  std::string words = core.command();
  if (words.size() >= ELF_PRARGSZ - 1) words.resize(words.rfind(' ') + 1);
  std::replace(words.begin(), words.end(), ' ', '\0');
  return text_of_command(words);
}

void check_same(const remote::Process& process) {
  if (!process.is_same())
    throw Error(Fault::unreadable, "process " + std::to_string(process.pid()) +
                                       ": it has ended, started another program or changed its user while it was read");
}

}  // namespace

ProgramStacks stacks_of_process(int pid, Frames frames) {
  std::unique_ptr<remote::Process> process = remote::Process::open(pid);
  ProgramStacks out;
  out.pid = pid;
  out.command = command_of(pid);
  Taker taker(*process, out, frames);
  std::optional<Unwinder> unwinder;
  std::optional<HighPriority> high;
  if (frames != Frames::python) {
    unwinder.emplace(std::vector<std::string>{std::to_string(pid)});
    high.emplace();
  }
  std::vector<int> tids = process->threads();
  std::map<int, int> by_own_id;
  for (int tid : tids) by_own_id.emplace(remote::innermost_id(tid), tid);
  taker.match_python_threads(std::move(by_own_id));
  for (int tid : tids) {
    ThreadStack thread;
    thread.tid = tid;
    thread.name = task_file(pid, tid, "comm");
    while (!thread.name.empty() && thread.name.back() == '\n') thread.name.pop_back();
    thread.main = tid == pid;
    char state = state_of(pid, tid);
    thread.runs = state == 'R';
    out.stopped |= state == 'T';
    for (int tries = kTries; tries--;) {
      u64 futex = futex_of(pid, tid);
      NativeStack native = unwinder ? unwinder->stack_of(tid) : NativeStack{};
      if (unwinder && native.end == NativeStack::End::not_read && native.why == "it has ended") break;
      bool held = native.end != NativeStack::End::not_read;
      Taken taken = taker.take(thread, std::move(native), futex);
      std::optional<u64> stopped_ns = held ? unwinder->release() : std::nullopt;
      if (stopped_ns && taken.thread.in_call.empty()) out.stops_ns.push_back(*stopped_ns);
      taken.moved = held && !stopped_ns;
      if (taken.moved && tries) continue;
      taker.keep(std::move(taken));
      break;
    }
  }
  check_same(*process);
  process->read_mappings();  // a library may have been loaded meanwhile
  taker.finish();
  check_same(*process);
  bool any = out.threads.empty();
  for (const ThreadStack& t : out.threads) any |= !t.frames.empty();
  if (!any && unwinder)
    throw Error(Fault::unreadable, "process " + std::to_string(pid) + " cannot be read: " + out.threads[0].incomplete);
  return out;
}

ProgramStacks stacks_of_core(const std::string& path, Frames frames) {
  std::unique_ptr<remote::Core> core = remote::Core::open(path);
  ProgramStacks out;
  out.pid = core->pid();
  out.command = command_of(*core);
  out.signal = core->signal();
  Taker taker(*core, out, frames);
  std::optional<Unwinder> unwinder;
  if (frames != Frames::python) unwinder.emplace(std::vector<std::string>{"--core", path});
  std::map<int, int> threads;
  for (int tid : core->threads()) threads.emplace(tid, tid);
  taker.match_python_threads(std::move(threads));
  for (int tid : core->threads()) {
    ThreadStack thread;
    thread.tid = tid;
    thread.main = tid == core->pid();
    thread.died = core->signal() && tid == core->threads()[0];
    NativeStack native = unwinder ? unwinder->stack_of(tid) : NativeStack{};
    taker.keep(taker.take(std::move(thread), std::move(native), 0));
    if (unwinder) unwinder->release();  // it was not stopped
  }
  taker.finish();
  return out;
}

}  // namespace tprof
