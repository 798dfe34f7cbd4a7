#include "cli/device_peaks.h"

#include <fstream>
#include <sstream>

#include "base/error.h"

namespace tprof {

void declare_devices(Arguments& arguments, std::string& path) {
  arguments.value("--devices", "", "FILE",
                  "file with the peak rates of GPUs, one per line: name; GB/s; fp64; fp32; tf32; half; fp8 (TFLOP/s)",
                  path);
}

std::vector<DevicePeak> device_peaks(const std::string& path) {
  if (path.empty()) return device_table();
  std::ifstream file(path);
  if (!file) throw Error(Fault::usage, "--devices " + path + ": cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return device_table(text.str());
}

}  // namespace tprof
