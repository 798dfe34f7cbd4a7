// How torch_tb_profiler rounds what its memory tables show.
#pragma once
#include <cmath>

namespace tprof {

// Two digits, or as many as are needed to show one that is not zero.
inline double plugin_rounded(double value) {
  double size = std::abs(value);
  int digits = size >= 0.01 || size == 0 ? 2 : static_cast<int>(std::abs(std::floor(std::log10(size))));
  double scale = std::pow(10, digits);
  return std::nearbyint(value * scale) / scale;
}

}  // namespace tprof
