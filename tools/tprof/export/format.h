// The formats of `tprof export`.
#pragma once
#include <string>
#include <vector>

#include "input/inputs.h"
#include "kineto/write/output.h"

namespace tprof {

struct ExportFormat {
  const char* name;  // of --to
  const char* what;  // for the help
  const char* into;  // for the help: what OUT is
  // Writes all inputs, and a line on stdout for what it has written. `out` may be empty: -o was not given. Throws
  // Error; returns the exit code.
  int (*write)(Inputs& inputs, const std::string& out);
};

const std::vector<ExportFormat>& export_formats();

// For formats with one file for each worker and span. `out`: a file that ends in the last part of `ending`, if there is
// one trace; else a directory, by default the current one, in which a file is named after its trace, and lies below its
// run if there are several.
struct FileFormat {
  const char* ending;  // ".speedscope.json"
  // Returns what was written, for people, and adds to `left_out` what should have been and could not.
  std::string (*write)(const Input& input, const Model& model, kineto::OutputFile& file, u64& left_out);
};
int write_files(Inputs& inputs, const std::string& out, const FileFormat& format);

// Throws Error(Fault::usage) if something is there that is no regular file, and so must not be replaced.
void check_replaceable(const std::string& path);

// "1 range", "2 ranges"
std::string count_of(u64 count, const char* what);

}  // namespace tprof
