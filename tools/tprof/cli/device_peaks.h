// --devices FILE: peak rates of GPUs, for commands that compare with them.
#pragma once
#include "analysis/time/flops.h"
#include "cli/args.h"

namespace tprof {

void declare_devices(Arguments& arguments, std::string& path);

// The rows of the file (none for ""), followed by the built-in ones. Throws Error(Fault::usage).
std::vector<DevicePeak> device_peaks(const std::string& path);

}  // namespace tprof
