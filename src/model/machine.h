// The figures of machine.def: Model::info holds them as "machine.<key>", traces in their ledger's `machine`.
#pragma once
#include <array>
#include <map>
#include <string>

#include "base/types.h"

namespace tprof {

// If the main thread waited for a CPU for more than this share of the time, others use the machine, too.
constexpr double kWaitsMuch = 0.02;

struct MachineRow {
  const char* key;
  const char* text;
  double least, least_share;  // two sides differ if their difference exceeds both
};
constexpr MachineRow kMachineRows[] = {
#define MACHINE(key, text, least, share) {#key, text, least, share},
#include "model/machine.def"
#undef MACHINE
};
constexpr u32 kMachineFigures = sizeof kMachineRows / sizeof *kMachineRows;
constexpr char kMachinePrefix[] = "machine.";
// In Model::info, the boot of the machine: processes of the same boot share a clock.
constexpr char kBootId[] = "boot_id";

enum class MachineFigure : u8 {
#define MACHINE(key, text, least, share) key,
#include "model/machine.def"
#undef MACHINE
};

// By row; NaN: not known.
using MachineFigures = std::array<double, kMachineFigures>;
MachineFigures no_machine_figures();
MachineFigures machine_figures(const std::map<std::string, std::string>& info);
void put_machine_figures(const MachineFigures& figures, std::map<std::string, std::string>& info);

}  // namespace tprof
