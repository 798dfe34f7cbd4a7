#include "base/directory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace tprof {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code why;
  for (std::filesystem::directory_iterator at(directory, why), end; !why && at != end; at.increment(why))
    out.push_back(at->path().filename().string());
  return out;
}

std::vector<int> numbers_in(const std::string& directory) {
  std::vector<int> out;
  for (const std::string& name : names_in(directory)) {
    int number = 0;
    const char* end = name.data() + name.size();
    auto [rest, failed] = std::from_chars(name.data(), end, number);
    if (failed == std::errc() && rest == end && number > 0) out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tprof
