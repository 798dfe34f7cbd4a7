#include "model/machine.h"

#include <stdio.h>
#include <stdlib.h>

#include <cmath>

namespace tprof {

MachineFigures no_machine_figures() {
  MachineFigures out;
  out.fill(std::nan(""));
  return out;
}

MachineFigures machine_figures(const std::map<std::string, std::string>& info) {
  MachineFigures out = no_machine_figures();
  for (u32 i = 0; i < kMachineFigures; i++)
    if (auto it = info.find(std::string(kMachinePrefix) + kMachineRows[i].key); it != info.end())
      out[i] = strtod(it->second.c_str(), nullptr);
  return out;
}

void put_machine_figures(const MachineFigures& figures, std::map<std::string, std::string>& info) {
  for (u32 i = 0; i < kMachineFigures; i++) {
    if (!std::isfinite(figures[i])) continue;
    char text[32];
    snprintf(text, sizeof text, "%.4g", figures[i]);
    info[std::string(kMachinePrefix) + kMachineRows[i].key] = text;
  }
}

}  // namespace tprof
