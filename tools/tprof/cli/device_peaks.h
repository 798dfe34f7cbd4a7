// --devices FILE: peaks of GPUs, for commands that compare with them.
#pragma once
#include "analysis/time/flops.h"
#include "cli/args.h"

namespace tprof {

void declare_devices(Arguments& arguments, std::string& path);

// The file's rows ("": none), then the built-in ones. Throws Error(Fault::usage).
std::vector<DevicePeak> device_peaks(const std::string& path);

}  // namespace tprof
