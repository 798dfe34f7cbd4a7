// The whole text of a file, for those of /proc above all. Nothing is thrown: reading one of a process that has ended
// since it was opened fails with ESRCH, which an iterator over a std::ifstream throws. There the text ends.
#pragma once

#include <string>

namespace tprof {

// Empty where the file cannot be opened.
std::string text_of_file(const std::string& path);

}  // namespace tprof
