// What is known about this process before there is a recording: facts (key and value) and capabilities (what works here
// and, if it does not, why). They are written as soon as the recording is created, and at once from then on.
#pragma once
#include <stddef.h>

#include "base/types.h"

namespace tprof {

class Notes {
 public:
  void info(const char* key, const char* value);
  void capability(const char* name, bool on, const char* why);
  // Everything that was noted, into the recording that was just created.
  void write() const;

 private:
  enum class What : char { info = 1, on, off };
  void keep(What what, const char* key, const char* value);

  // Per note: What, key, NUL, value, NUL. A note that does not fit is not kept: it would take hundreds of them.
  char text_[32 << 10] = {};
  u32 used_ = 0;
};

}  // namespace tprof
