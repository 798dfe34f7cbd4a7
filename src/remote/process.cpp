#include "remote/process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/directory.h"
#include "base/elf_machine.h"
#include "base/error.h"

namespace tprof::remote {
namespace {

std::string proc(int pid, const char* what) { return "/proc/" + std::to_string(pid) + "/" + what; }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Empty: the program file is of this architecture, or may not be read.
std::string other_architecture(int pid) {
  std::ifstream file(proc(pid, "exe"), std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return "";
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "a 32-bit program";
  return kOwnMachine == EM_NONE || header.e_machine == kOwnMachine ? ""
                                                                   : "a program for another processor architecture";
}

bool is_kernel_thread(int pid) {
  constexpr unsigned kFlag = 0x00200000;  // PF_KTHREAD of the kernel's include/linux/sched.h
  std::string stat = first_line(proc(pid, "stat"));
  size_t name_end = stat.rfind(')');
  unsigned flags = 0;
  return name_end != std::string::npos &&
         sscanf(stat.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & kFlag);
}

}  // namespace

std::string status_field(int pid, const char* name) {
  std::ifstream file(proc(pid, "status"));
  std::string prefix = std::string(name) + ":";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(prefix)) continue;
    size_t from = line.find_first_not_of(" \t", prefix.size());
    return from == std::string::npos ? "" : line.substr(from);
  }
  return "";
}

int innermost_id(int id) {
  std::string ids = status_field(id, "NSpid");
  size_t last = ids.find_last_of(" \t");
  int own = atoi(ids.c_str() + (last == std::string::npos ? 0 : last + 1));
  return own > 0 ? own : id;
}

std::string refusal(int pid) {
  if (is_kernel_thread(pid)) return "it is a kernel thread, which runs no program";
  if (std::string tracer = status_field(pid, "TracerPid"); !tracer.empty() && tracer != "0")
    return "process " + tracer + " (" + first_line("/proc/" + tracer + "/comm") +
           ") traces it already; end that debugger first";
  std::istringstream uids(status_field(pid, "Uid"));
  uid_t user = 0;
  if (uids >> user && user != geteuid() && geteuid() != 0)
    return "it belongs to user " + std::to_string(user) + "; run this as that user or as root";
  std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope == "3") return "this kernel forbids it (kernel.yama.ptrace_scope is 3)";
  if (scope == "2" || (scope == "1" && geteuid() != 0))
    return "kernel.yama.ptrace_scope is " + scope + "; run this as root" +
           (scope == "1" ? ", or allow it: sysctl kernel.yama.ptrace_scope=0" : "");
  if (geteuid() == 0) return "this container lacks the capability SYS_PTRACE";
  return "it does not let itself be read (it changed its user, or is not dumpable); run this as root";
}

std::unique_ptr<Process> Process::open(int pid) {
  std::string name = "process " + std::to_string(pid);
  if (access("/proc/self/maps", R_OK) != 0) throw Error(Fault::unreadable, "/proc is not mounted; stacks need it");
  std::unique_ptr<Process> process(new Process(pid));
  if (!process->being_.start_time) throw Error(Fault::unreadable, name + ": there is no such process");
  // A thread's id has an entry in /proc, too.
  if (std::string group = status_field(pid, "Tgid"); !group.empty() && group != std::to_string(pid))
    throw Error(Fault::unreadable, name + ": this is a thread of process " + group);
  if (std::string other = other_architecture(pid); !other.empty())
    throw Error(Fault::unreadable, name + ": " + other + "; only programs of this one are read");
  if (process->being_.exe.empty()) throw Error(Fault::unreadable, name + " cannot be read: " + refusal(pid));
  process->read_mappings();
  if (process->can_be_read()) return process;
  if (!process->is_same() || process->mappings_.empty())
    throw Error(Fault::unreadable, name + ": it has ended, or is just starting another program");
  throw Error(Fault::unreadable, name + " cannot be read: " + refusal(pid));
}

bool Process::can_be_read() const {
  char byte;
  for (const Mapping& mapping : mappings_)
    if (mapping.executable && mapping.path.starts_with("/")) return read(mapping.begin, &byte, 1);
  return false;
}

std::vector<Mapping> mappings_of(int pid) {
  std::vector<Mapping> out;
  std::ifstream maps(proc(pid, "maps"));
  for (std::string line; std::getline(maps, line);) {
    Mapping m;
    char permissions[5] = {};
    unsigned long begin, end, offset, inode;
    int path_at = 0;
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %lu %n", &begin, &end, permissions, &offset, &inode, &path_at) < 5)
      continue;
    m.begin = begin;
    m.end = end;
    m.offset = offset;
    m.inode = inode;
    m.executable = permissions[2] == 'x';
    if (path_at > 0 && size_t(path_at) < line.size()) m.path = line.substr(size_t(path_at));
    out.push_back(std::move(m));
  }
  return out;
}

bool Process::read_mappings() {
  std::vector<Mapping> before = std::move(mappings_);
  mappings_ = mappings_of(pid_);
  auto is_data = [](const Mapping& m) { return !m.executable; };
  std::vector<Mapping> now = mappings_;
  std::erase_if(before, is_data);
  std::erase_if(now, is_data);
  return before != now;
}

bool Process::read(u64 address, void* to, size_t bytes) const {
  iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == ssize_t(bytes);
}

bool Process::read_pieces(std::vector<Piece>& pieces) const {
  constexpr size_t kMax = IOV_MAX;
  iovec local[kMax], remote[kMax];
  bool any = false;
  for (size_t next = 0; next < pieces.size();) {
    size_t count = std::min(pieces.size() - next, kMax);
    for (size_t i = 0; i < count; i++) {
      const Piece& piece = pieces[next + i];
      local[i] = {piece.to, piece.bytes};
      remote[i] = {reinterpret_cast<void*>(piece.address), piece.bytes};
    }
    ssize_t got = process_vm_readv(pid_, local, count, remote, count, 0);
    size_t left = got > 0 ? size_t(got) : 0, whole = 0;
    for (; whole < count && left >= pieces[next + whole].bytes; whole++) {
      left -= pieces[next + whole].bytes;
      pieces[next + whole].read = any = true;
    }
    if (got < 0 && errno != EFAULT) return any;
    for (size_t i = next + whole; i < next + count; i++) pieces[i].read = false;
    next += whole == count ? whole : whole + 1;  // the one that stopped it is not mapped
  }
  return any;
}

// How the kernel prints a path of another mount namespace depends on what is mounted where: the inode decides. If the
// program's root lies below a mount that only it sees, its paths are those from its root with more in front.
std::string path_here(int pid, const Mapping& mapping) {
  const std::string root = proc(pid, "root");
  auto is_it = [&](const std::string& path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 && (!mapping.inode || s.st_ino == mapping.inode);
  };
  if (is_it(mapping.path)) return mapping.path;
  size_t from = 0;
  do {
    if (std::string path = root + mapping.path.substr(from); is_it(path)) return path;
    from = mapping.path.find('/', from + 1);
  } while (mapping.inode && from != mapping.path.npos);
  char range[64];
  snprintf(range, sizeof range, "map_files/%llx-%llx", static_cast<unsigned long long>(mapping.begin),
           static_cast<unsigned long long>(mapping.end));
  return proc(pid, range);  // for a file that was deleted, too; root may open it
}

std::vector<int> Process::threads() const { return numbers_in(proc(pid_, "task")); }

Process::Being Process::being_of(int pid) {
  Being out;
  out.start_time = process_identity(pid).start_time;
  std::error_code unreadable;
  out.exe = std::filesystem::read_symlink(proc(pid, "exe"), unreadable);
  char status[4096];
  if (read_small_file(proc(pid, "status").c_str(), status, sizeof status) <= 0) return out;
  const char* ids = strstr(status, "\nUid:");  // followed by Gid
  const char* end = ids ? strstr(ids, "\nFDSize:") : nullptr;
  if (end) out.ids.assign(ids, end);
  return out;
}

Process::Process(int pid) : pid_(pid), pidfd_(int(syscall(SYS_pidfd_open, pid, 0))), being_(being_of(pid)) {}

Process::~Process() {
  if (pidfd_ >= 0) close(pidfd_);
}

// What is read by the pid is of the process that the pidfd stands for if that one has not ended afterwards.
bool Process::is_same() const {
  bool same = being_of(pid_) == being_;
  pollfd end{pidfd_, POLLIN, 0};
  return same && (pidfd_ < 0 || poll(&end, 1, 0) == 0);
}

}  // namespace tprof::remote
