#include "dataset/unfinished.h"

#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/error.h"

namespace tprof::dataset {

namespace fs = std::filesystem;

Unfinished::Unfinished(const std::string& out) : out_(out), path_(out) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  // In containers a process that was killed, whose remains may be there, had the same pid.
  std::random_device random;
  path_ += ".unfinished-" + std::to_string(getpid()) + "-" + std::to_string(random());
  std::error_code why;
  fs::file_status status = fs::symlink_status(out, why);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(out, why)))
    throw Error(Fault::usage, out + ": exists already; remove it, or give another name with -o");
}

Unfinished::~Unfinished() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void Unfinished::finish() {
  std::error_code why;
  fs::remove(out_, why);  // an empty directory
  fs::rename(path_, out_, why);
  if (why) throw Error(Fault::partial, out_ + ": cannot be made: " + why.message());
  path_.clear();
}

}  // namespace tprof::dataset
