// The arguments of a call as CUPTI hands them to callbacks: a struct of the parameters in their order.
#pragma once
#include <cstring>

#include "types.h"

namespace sim {

struct Parameters {
  alignas(16) u8 bytes[256];

  template <typename... A>
  explicit Parameters(const A&... arguments) {
    size_t at = 0;
    (put(&at, arguments), ...);
  }

 private:
  template <typename T>
  void put(size_t* at, const T& value) {
    *at = (*at + alignof(T) - 1) / alignof(T) * alignof(T);
    memcpy(bytes + *at, &value, sizeof value);
    *at += sizeof value;
  }
};

}  // namespace sim
