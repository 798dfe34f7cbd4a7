// The curve of memory as torch_tb_profiler draws it: in steps, thinned where it has too many points.
#pragma once
#include <array>

#include "plugin_compat/memory.h"

namespace tprof {

constexpr size_t kPluginCurvePoints = 10240;

// Milliseconds since the first event, MiB allocated, MiB reserved.
using PluginCurve = std::vector<std::array<double, 3>>;

// Each point stands behind one of the same time with the level so far.
PluginCurve plugin_curve(const std::vector<PluginMemoryPoint>& points);

// By largest triangles: the points between the first and the last are put into as many bins as there is room for, and
// of each bin stays the point that spans the largest triangle (of time and bytes allocated) with the point that stayed
// before it and the mean of the next bin.
PluginCurve thinned(PluginCurve curve, size_t most = kPluginCurvePoints);

}  // namespace tprof
