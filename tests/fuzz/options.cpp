// A value of each option's variable: it is taken or refused in one line, and what is stated of a value that was taken
// is taken, too.
#include <string.h>

#include "base/options.h"
#include "scratch.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size < 1 || memchr(data + 1, 0, size - 1)) return 0;
  int row = data[0] % kOptionRowCount;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const char* variable = kOptionRows[row].env;
  setenv(variable, text.c_str(), 1);
  Options options;
  OptionError error;
  if (parse_options(options, error)) {
    fuzz::require(!error, "what is taken is not complained of");
    char buffer[256];
    std::string stated = option_value(options, row, buffer);
    setenv(variable, stated.c_str(), 1);
    Options again;
    OptionError refused;
    fuzz::require(parse_options(again, refused), "what is stated of an option can be given: " + stated);
    fuzz::require(option_value(again, row, buffer) == stated, "what is stated of an option stays: " + stated);
  } else {
    fuzz::require(bool(error), "what is refused is refused with a reason");
  }
  unsetenv(variable);
  return 0;
}
