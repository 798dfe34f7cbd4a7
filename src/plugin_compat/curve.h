// The curve of memory as torch_tb_profiler draws it: as a step function, thinned if it has too many points.
#pragma once
#include <array>

#include "plugin_compat/memory.h"

namespace tprof {

constexpr size_t kPluginCurvePoints = 10240;

// Milliseconds since the first event, MiB allocated, MiB reserved.
using PluginCurve = std::vector<std::array<double, 3>>;

// Before each point there is another one at the same time with the previous level.
PluginCurve plugin_curve(const std::vector<PluginMemoryPoint>& points);

// Thins by largest triangles: the points between the first and the last are divided into as many bins as points may
// remain. Of each bin the point is kept that spans the largest triangle (of time and bytes allocated) with the
// previously kept point and the mean of the next bin.
PluginCurve thinned(PluginCurve curve, size_t most = kPluginCurvePoints);

}  // namespace tprof
