// What every table of modules begins with: places, classes of them, and Lightning's.
#pragma once
#include "report/columns.h"

namespace tprof {

template <class Row>
void add_module_costs(Columns<Row>& c, bool has_device) {
  c.add("occurrences", "Calls", Unit::count, 0, [](auto& r) { return i64(r.occurrences); });
  c.add("operators", "Operators", Unit::count, 2, [](auto& r) { return i64(r.operators); });
  c.add("host_total_duration", "CPU total", Unit::time, 0, [](auto& r) { return r.host_total_ns; });
  c.add("host_self_duration", "Self CPU", Unit::time, 3, [](auto& r) { return r.host_self_ns; });
  if (has_device) {
    c.add("device_total_duration", "CUDA total", Unit::time, 0, [](auto& r) { return r.device_total_ns; });
    c.add("device_self_duration", "Self CUDA", Unit::time, 3, [](auto& r) { return r.device_self_ns; });
  }
}

}  // namespace tprof
