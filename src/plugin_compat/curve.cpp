#include "plugin_compat/curve.h"

#include <cmath>

namespace tprof {
namespace {

constexpr double kMillisecond = 0.001, kMegabyte = 1.0 / (1 << 20);

using Point = PluginCurve::value_type;

double area(const Point& a, const Point& b, const Point& c) {
  return 0.5 * std::abs((a[0] - c[0]) * (b[1] - a[1]) - (a[0] - b[0]) * (c[1] - a[1]));
}

Point mean(const Point* begin, const Point* end) {
  Point sum{};
  for (const Point* p = begin; p != end; p++) sum[0] += (*p)[0], sum[1] += (*p)[1];
  return {sum[0] / double(end - begin), sum[1] / double(end - begin), 0};
}

}  // namespace

PluginCurve plugin_curve(const std::vector<PluginMemoryPoint>& points) {
  PluginCurve out;
  for (const PluginMemoryPoint& p : points) {
    double ms = p.us * kMillisecond;
    if (!out.empty()) out.push_back({ms, out.back()[1], out.back()[2]});
    out.push_back({ms, double(p.allocated_bytes) * kMegabyte, double(p.reserved_bytes) * kMegabyte});
  }
  return out;
}

PluginCurve thinned(PluginCurve curve, size_t most) {
  if (curve.size() <= most) return curve;
  const size_t bins = most - 2, inner = curve.size() - 2, size = inner / bins, larger = inner % bins;
  PluginCurve out{curve.front()};
  const Point* begin = curve.data() + 1;
  for (size_t bin = 0; bin < bins; bin++) {
    const Point* end = begin + size + (bin < larger);
    const Point* next_end = bin + 1 < bins ? end + size + (bin + 1 < larger) : end + 1;
    Point next = mean(end, next_end), last = out.back();
    const Point* largest = begin;
    for (const Point* p = begin; p != end; p++)
      if (area(last, *p, next) > area(last, *largest, next)) largest = p;
    out.push_back(*largest);
    begin = end;
  }
  out.push_back(curve.back());
  return out;
}

}  // namespace tprof
