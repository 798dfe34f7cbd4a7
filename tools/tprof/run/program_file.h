// The program that would be started: searched for as a shell does, and checked whether the loader will preload a
// library into it.
#pragma once
#include <string>

namespace tprof {

struct ProgramFile {
  std::string path;  // empty when not found
  int status = 0;    // 0, or the exit status that shells use: 127 not found, 126 not executable
  std::string why;   // one line when status is not 0
};

ProgramFile find_program(const std::string& name);

// Why libtprof.so cannot be loaded into this program ("is statically linked", ...), or "" if it probably can. Follows
// "#!" lines.
std::string why_not_preloadable(const std::string& path);

// The path of libtprof.so, in the build tree or installed beside this tool. Throws Error if it is not there.
std::string find_library();

// What LD_PRELOAD has to say for it.
std::string preload_name(const std::string& library);

// The path of a program that belongs to this tool: in its own folder of the build tree, or installed in libexec; empty
// if it was not built.
std::string find_program_beside(const std::string& folder, const std::string& name);

// The `tprof` binary itself.
std::string own_path();

}  // namespace tprof
