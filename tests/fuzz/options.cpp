// A value of each option's variable: it is taken or refused with a reason, and what is stated of a value that was taken
// is taken, too.
#include <string.h>

#include <algorithm>

#include "base/options.h"
#include "scratch.h"

using namespace tprof;

namespace {

// For a pattern of dozens of nested repetitions glibc's regcomp needs gigabytes. Nobody but the user writes one.
constexpr int kMaxRepetitions = 8;

// By putenv, since glibc keeps every text that setenv was ever given.
void set(std::string& entry, const char* variable, const std::string& value) {
  entry = std::string(variable) + "=" + value;
  putenv(entry.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size < 1 || memchr(data + 1, 0, size - 1)) return 0;
  int row = data[0] % kOptionRowCount;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1), given, stated;
  if (std::count_if(text.begin(), text.end(), [](char c) { return strchr("*+?{", c); }) > kMaxRepetitions) return 0;
  const char* variable = kOptionRows[row].env;
  set(given, variable, text);
  Options options;
  OptionError error;
  if (parse_options(options, error)) {
    fuzz::require(!error, "what is taken is not complained of");
    char buffer[256];
    std::string value = option_value(options, row, buffer);
    set(stated, variable, value);
    Options again;
    OptionError refused;
    fuzz::require(parse_options(again, refused), "what is stated of an option can be given: " + value);
    fuzz::require(option_value(again, row, buffer) == value, "what is stated of an option stays: " + value);
  } else {
    fuzz::require(bool(error), "what is refused is refused with a reason");
  }
  unsetenv(variable);
  return 0;
}
