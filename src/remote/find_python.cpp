// Finds the interpreter in a program: the mapped file that defines _PyRuntime.
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "remote/images.h"
#include "remote/python_layout.h"

namespace tprof::remote {
namespace {

constexpr u16 kPublishes = 3 << 8 | 13;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_interpreter(const std::string& path) { return file_name(path).starts_with("python"); }

// The interpreter's file, or else the library that holds the interpreter.
struct PythonFile {
  const Mapping* mapping = nullptr;
  u64 runtime = 0, code_type = 0;  // addresses in the program
};

// Programs may be linked with the interpreter statically, so the program's own file is looked at whatever its name is.
PythonFile find_file(const Memory& memory) {
  std::set<std::string> seen;
  for (const Mapping& mapping : memory.mappings()) {
    bool first = seen.empty();
    if (!mapping.path.starts_with("/") || !seen.insert(mapping.path).second) continue;
    if (!first && !is_interpreter(mapping.path) && !file_name(mapping.path).starts_with("libpython3")) continue;
    std::map<std::string, u64> objects{{"_PyRuntime", 0}, {"PyCode_Type", 0}};
    auto file = ElfFile::open(memory.path_here(mapping), &objects);
    std::optional<u64> bias = file ? bias_of(mapping, *file) : std::nullopt;
    if (bias && objects["_PyRuntime"] && objects["PyCode_Type"])
      return {&mapping, *bias + objects["_PyRuntime"], *bias + objects["PyCode_Type"]};
  }
  return {};
}

// The program of the process, which may be another one than the file that holds the interpreter.
const Mapping* program_of(const Memory& memory) {
  for (const Mapping& mapping : memory.mappings())
    if (mapping.path.starts_with("/")) return &mapping;
  return nullptr;
}

bool only_root_and_we_can_change(const std::string& path) {
  char resolved[PATH_MAX];
  if (!realpath(path.c_str(), resolved)) return false;
  for (std::string at = resolved; !at.empty(); at.resize(at.rfind('/'))) {
    struct stat s;
    if (stat(at.c_str(), &s) != 0 || (s.st_uid != 0 && s.st_uid != geteuid())) return false;
    bool others_write = s.st_mode & (S_IWGRP | S_IWOTH), keeps_to_owners = S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX);
    if (others_write && !keeps_to_owners) return false;
  }
  return true;
}

}  // namespace

FoundPython find_python(const Memory& memory, bool learn) {
  FoundPython out;
  PythonFile file = find_file(memory);
  if (!file.mapping) return out;
  out.is_python = true;
  out.layout.runtime = file.runtime;
  out.layout.code_type = file.code_type;
  out.why_not = published_layout(memory, out.layout);
  if (out.why_not.empty() || out.layout.python >= kPublishes) return out;
  const std::string program = memory.path_here(*program_of(memory));
  if (!learn || !is_interpreter(program)) {
    out.why_not = "its layout is only known from 3.13 on, or where python3 itself is the program";
    return out;
  }
  if (memory.is_hearsay() && !only_root_and_we_can_change(program)) {
    out.why_not = "its layout is not learnt: the core file names " + program +
                  " as the program, which others than you and root can change, and it would have to be started";
    return out;
  }
  static std::map<std::string, std::pair<PythonLayout, std::string>> learnt;
  auto [known, added] = learnt.try_emplace(program + "\n" + file.mapping->path);
  if (added) known->second.second = learnt_layout(program, memory.user(), known->second.first);
  out.why_not = known->second.second;
  out.layout = known->second.first;
  out.layout.runtime = file.runtime;
  out.layout.code_type = file.code_type;
  return out;
}

}  // namespace tprof::remote
