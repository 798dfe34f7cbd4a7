// A directory in memory for the files that a target reads, and what all targets need.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/types.h"

namespace tprof::fuzz {

// Of this process; it is removed at its end.
class Scratch {
 public:
  Scratch() {
    std::string name =
        (std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") + std::string("/tprof-fuzz-XXXXXX");
    if (!mkdtemp(name.data())) abort();
    path_ = name;
    setenv("PATH", "", 1);  // no tool that reads line tables is started
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // The path of a new file with these contents.
  std::string file(const std::string& name, const void* data, size_t size) const {
    std::ofstream out(path(name), std::ios::binary | std::ios::trunc);
    out.write(static_cast<const char*>(data), std::streamsize(size));
    return path(name);
  }

 private:
  std::string path_;
};

// What must hold whatever the input is.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  fprintf(stderr, "violated: %s\n", what.c_str());
  abort();
}

}  // namespace tprof::fuzz
