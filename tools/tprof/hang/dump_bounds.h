// What a dump may hold, so that a hostile one takes neither all memory nor minutes.
#pragma once
#include <stddef.h>

#include <string>

#include "base/error.h"
#include "json/json.h"

namespace tprof::hang {

// `why`: to follow the file's name.
[[noreturn]] inline void refuse(const std::string& why) { throw Error(Fault::unreadable, why); }

class DumpBounds : public JsonLimits {
 public:
  static constexpr size_t kDeepest = 64;

  // All refuse what is too much.
  void add_value() override { add(values_, 1, 5'000'000); }
  // Of a pickle: each takes some memory.
  void add_opcode() { add(opcodes_, 1, 10'000'000); }
  // A text may be used in several places, and is copied to each.
  void add_text(size_t bytes) { add(text_, bytes, 256 << 20); }
  // In an object all `before` keys are compared with a new one.
  void add_key(size_t before) override { add(compared_, before, 100'000'000); }

 private:
  static void add(size_t& sum, size_t more, size_t most) {
    if ((sum += more) > most) refuse("it is nested too deeply, or holds too many values");
  }

  size_t values_ = 0, opcodes_ = 0, text_ = 0, compared_ = 0;
};

}  // namespace tprof::hang
