#include "plugin_compat/ranges.h"

#include <algorithm>

namespace tprof {

PluginRanges merged(PluginRanges any) {
  std::stable_sort(any.begin(), any.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  PluginRanges out;
  for (const PluginRange& r : any) {
    if (out.empty() || r.begin > out.back().end)
      out.push_back(r);
    else
      out.back().end = std::max(out.back().end, r.end);
  }
  return out;
}

PluginRanges common(const PluginRanges& a, const PluginRanges& b) {
  PluginRanges out;
  size_t first = 0;
  for (const PluginRange& r : a) {
    while (first < b.size() && b[first].end <= r.begin) first++;
    for (size_t i = first; i < b.size() && b[i].begin < r.end; i++)
      out.push_back({std::max(r.begin, b[i].begin), std::min(r.end, b[i].end)});
  }
  return out;
}

PluginRanges without(const PluginRanges& a, const PluginRanges& b) {
  PluginRanges out;
  size_t first = 0;
  for (const PluginRange& r : a) {
    double begin = r.begin;
    bool gone = false;
    while (first < b.size() && b[first].end <= r.begin) first++;
    for (size_t i = first; i < b.size() && !gone && (b[i].begin < r.end || b[i].begin <= begin); i++) {
      if (b[i].begin > begin) out.push_back({begin, b[i].begin});
      begin = b[i].end;
      gone = begin >= r.end;
    }
    if (!gone) out.push_back({begin, r.end});
  }
  return out;
}

}  // namespace tprof
