// Preserves the program's errno around work of our own.
#pragma once
#include <errno.h>

namespace tprof {

class KeepErrno {
 public:
  ~KeepErrno() { errno = saved_; }

 private:
  int saved_ = errno;
};

}  // namespace tprof
