// What would be started: found as a shell finds it, and looked at to see whether the loader will preload into
// it.
#pragma once
#include <string>

namespace tprof {

struct ProgramFile {
  std::string path;  // empty when not found
  int status = 0;    // 0, or the exit status that shells use: 127 not found, 126 not executable
  std::string why;   // one line when status is not 0
};

ProgramFile find_program(const std::string& name);

// Why libtprof.so cannot be loaded into this file ("is statically linked", ...), or "" when nothing speaks
// against it. Follows "#!" lines.
std::string why_not_preloadable(const std::string& path);

// Where libtprof.so is: next to this tool, in the build tree or installed. Throws Error when it is not there.
std::string find_library();

// The `tprof` binary itself.
std::string own_path();

}  // namespace tprof
