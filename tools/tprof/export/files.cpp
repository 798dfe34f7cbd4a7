#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "exit_codes.h"
#include "export/format.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

// The name of a trace without what says that it is one.
std::string stem_of(const std::string& trace) {
  std::string name = fs::path(trace).filename().string();
  for (const char* end : {".gz", ".json", ".trace", ".pt"})
    if (name.ends_with(end)) name.resize(name.size() - std::string(end).size());
  return name;
}

// Where the file of each input goes.
class Places {
 public:
  Places(const Inputs& inputs, const std::string& out, const char* ending) : out_(out), ending_(ending) {
    std::string extension = fs::path(ending).extension().string();
    std::error_code why;
    bool is_directory = fs::is_directory(out, why);
    is_file_ = !is_directory && out.ends_with(extension);
    if (is_file_ && inputs.all().size() > 1)
      throw Error(Fault::usage, "--output '" + out + "' is one file, and there are " +
                                    std::to_string(inputs.all().size()) + " traces; give a directory");
    if (is_file_) check_replaceable(out);
    if (!is_file_ && !is_directory && fs::exists(out, why))
      throw Error(Fault::usage, out + ": is no directory, and does not end in " + extension);
    std::set<std::string> runs;
    for (const Input& input : inputs.all()) runs.insert(input.run);
    by_run_ = runs.size() > 1;
  }

  std::string place_of(const Input& input) {
    if (is_file_) return out_;
    fs::path directory = out_.empty() ? "." : out_;
    if (by_run_) directory /= input.run;
    std::error_code why;
    fs::create_directories(directory, why);
    if (why) throw Error(Fault::usage, directory.string() + ": cannot be made: " + why.message());
    std::string path = (directory / (stem_of(input.path) + ending_)).lexically_normal().string();
    if (!taken_.insert(path).second)
      throw Error(Fault::partial, "another trace of this name and run went to " + path + "; export it by itself");
    return path;
  }

 private:
  const std::string out_, ending_;
  bool is_file_ = false, by_run_ = false;
  std::set<std::string> taken_;
};

}  // namespace

std::string count_of(u64 count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void check_replaceable(const std::string& path) {
  std::error_code why;
  fs::file_status status = fs::symlink_status(path, why);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(Fault::usage, path + ": exists and is not a regular file; give another name with -o");
}

int write_files(Inputs& inputs, const std::string& out, const FileFormat& format) {
  Places places(inputs, out, format.ending);
  u64 left_out = 0;
  int code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
    std::string path = places.place_of(input);
    check_replaceable(path);
    kineto::OutputFile file(path, false);
    std::string written = format.write(input, model, file, left_out);
    file.finish();
    print(stdout, printable(path + ": " + written) + "\n");
  });
  return code == kExitOk && left_out ? kExitPartial : code;
}

}  // namespace tprof
