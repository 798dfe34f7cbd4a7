#include "run/program_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "base/elf_machine.h"
#include "base/error.h"
#include "base/glibc_only.h"
#include "input/trace_file.h"

namespace tprof {
namespace {

constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

// The first bytes of a file; empty when it cannot be read.
std::string head_of(const std::string& path, size_t bytes) {
  std::string text(bytes, 0);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text.data(), bytes);
  if (fd >= 0) close(fd);
  text.resize(n > 0 ? size_t(n) : 0);
  return text;
}

// Whether the program gains rights when it is run. The loader then ignores preloads outside of the system's
// directories.
bool gains_rights(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return false;
  if ((s.st_mode & S_ISUID) && s.st_uid != geteuid()) return true;
  if ((s.st_mode & S_ISGID) && (s.st_mode & S_IXGRP) && s.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// The loader that the program names; empty if it names none.
std::string interpreter_of(const std::string& head, const std::string& path) {
  Elf64_Ehdr e;
  memcpy(&e, head.data(), sizeof e);
  std::string table = head_of(path, size_t(e.e_phoff) + size_t(e.e_phnum) * sizeof(Elf64_Phdr));
  for (size_t i = 0; i < e.e_phnum; i++) {
    Elf64_Phdr p;
    size_t at = e.e_phoff + i * sizeof p;
    if (at + sizeof p > table.size()) break;
    memcpy(&p, table.data() + at, sizeof p);
    if (p.p_type != PT_INTERP) continue;
    std::string start = head_of(path, size_t(p.p_offset) + std::min<size_t>(p.p_filesz, PATH_MAX));
    return start.size() > p.p_offset ? start.substr(p.p_offset) : "unknown";
  }
  return "";
}

}  // namespace

ProgramFile find_program(const std::string& name) {
  auto judge = [&](const std::string& path) -> ProgramFile {
    struct stat s;
    if (stat(path.c_str(), &s) != 0) return {"", errno == EACCES ? 126 : 127, name + ": " + strerror(errno)};
    if (S_ISDIR(s.st_mode)) return {"", 126, name + ": is a directory, not a program"};
    if (access(path.c_str(), X_OK) != 0)
      return {"", 126, name + ": is not executable (" + strerror(errno) + "); try chmod +x, or name its interpreter"};
    return {path, 0, ""};
  };
  if (name.empty()) return {"", 127, "the program's name is empty"};
  if (name.find('/') != std::string::npos) return judge(name);
  const char* path = getenv("PATH");
  // An empty part is the working directory, the last one, too, which getline() gives only with a separator after it.
  std::istringstream parts(std::string(path ? path : "/bin:/usr/bin") + ":");
  ProgramFile refused{"", 127, name + ": not found on PATH"};
  for (std::string part; std::getline(parts, part, ':');) {
    ProgramFile found = judge((part.empty() ? "." : part) + "/" + name);
    if (found.status == 0) return found;
    if (found.status == 126 && !is_directory((part.empty() ? "." : part) + "/" + name)) refused = found;
  }
  return refused;
}

std::string why_not_preloadable(const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth < 5; depth++) {
    if (gains_rights(file)) return "is setuid or has capabilities, so the system ignores LD_PRELOAD for it";
    std::string head = head_of(file, sizeof(Elf64_Ehdr) + 256);
    if (head.starts_with("#!")) {
      size_t from = head.find_first_not_of(" \t", 2), to = head.find_first_of(" \t\n", from);
      if (from == std::string::npos || to == std::string::npos) return "";
      file = head.substr(from, to - from);
      continue;
    }
    if (head.size() < sizeof(Elf64_Ehdr) || memcmp(head.data(), ELFMAG, SELFMAG) != 0) return "";
    if (static_cast<unsigned char>(head[EI_CLASS]) != kOwnClass) return "is a 32-bit program";
    Elf64_Ehdr e;
    memcpy(&e, head.data(), sizeof e);
    if (kOwnMachine != EM_NONE && e.e_machine != kOwnMachine) return "is a program for another processor";
    std::string loader = interpreter_of(head, file);
    if (loader.find("/ld-musl-") != std::string::npos) return "is linked with musl and not with glibc";
    return loader.empty() ? "is statically linked" : "";
  }
  return "";
}

namespace {

// LD_PRELOAD cannot name a path with a blank or a colon, so a link to the library is made in a directory that only this
// user may write to. The link is not removed because programs may still use it when this process has ended.
std::string link_to(const std::string& library) {
  auto refuse = [&](const std::string& why) {
    throw Error(Fault::usage, library + ": LD_PRELOAD cannot name a path with a blank or a colon, and " + why +
                                  "; install tprof elsewhere");
  };
  std::string home = "/tmp/tprof-" + std::to_string(geteuid());
  char hash[32];
  snprintf(hash, sizeof hash, "/%016zx", std::hash<std::string>()(library));
  std::string directory = home + hash, link = directory + "/libtprof.so";
  for (const std::string& made : {home, directory}) {
    struct stat s;
    if (mkdir(made.c_str(), 0700) != 0 && errno != EEXIST) refuse(made + " cannot be made: " + strerror(errno));
    if (lstat(made.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 022))
      refuse(made + " is not a directory of this user's alone");
  }
  char target[PATH_MAX];
  ssize_t n = readlink(link.c_str(), target, sizeof target);
  if (n > 0 && std::string(target, static_cast<size_t>(n)) == library) return link;
  unlink(link.c_str());
  if (symlink(library.c_str(), link.c_str()) != 0 && errno != EEXIST)
    refuse(link + " cannot be made: " + strerror(errno));
  return link;
}

}  // namespace

std::string own_path() {
  char text[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", text, sizeof text);
  return n > 0 ? std::string(text, size_t(n)) : std::string();
}

std::string find_program_beside(const std::string& folder, const std::string& name) {
  std::string self = own_path(), directory = self.substr(0, self.rfind('/'));
  for (const std::string& candidate : {folder, std::string(TPROF_LIBEXEC_FROM_BIN)}) {
    std::string path = (candidate[0] == '/' ? "" : directory + "/") + candidate + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string find_library() {
  std::string self = own_path();
  std::string dir = self.substr(0, self.rfind('/'));
  // TPROF_LIBRARY_FROM_BIN is where `meson install` puts it, seen from the directory of this binary.
  for (const char* candidate : {"../shim", TPROF_LIBRARY_FROM_BIN, "../lib/tprof", "../lib64/tprof"}) {
    char real[PATH_MAX];
    std::string base = candidate[0] == '/' ? "" : dir + "/";
    if (!realpath((base + candidate + "/libtprof.so").c_str(), real)) continue;
    return strpbrk(real, ": ") ? link_to(real) : real;
  }
  throw Error(Fault::usage, "libtprof.so is not where it belongs (" + dir + "/" + TPROF_LIBRARY_FROM_BIN +
                                "); build or install tprof again");
}

std::string preload_name(const std::string& library) {
  // Whether this loader finds what it has loaded already, the C library: not every system has its libraries in /usr.
  Dl_info libc;
  char real[PATH_MAX];
  bool works = dladdr(dlsym(RTLD_DEFAULT, "getpid"), &libc) && realpath(libc.dli_fname, real) &&
               dlopen((std::string(kGlibcOnly) + real).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return works ? kGlibcOnly + library : library;
}

}  // namespace tprof
