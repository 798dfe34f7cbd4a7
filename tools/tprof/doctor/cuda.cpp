#include "doctor/cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sstream>

#include "base/signal_text.h"
#include "base/text_file.h"
#include "run/child.h"

namespace tprof::doctor {
namespace {

constexpr int kDriverTime_s = 60;
// WSL2 has no NVIDIA device files; its libcuda.so.1 comes from Windows.
constexpr char kDevice[] = "/dev/nvidiactl", kWslDevice[] = "/dev/dxg", kWslLibrary[] = "/usr/lib/wsl/lib/libcuda.so.1";

constexpr char kAskDriver[] =
#include "ask_driver.py.inc"
    ;

bool exists(const char* path) { return access(path, F_OK) == 0; }

std::string device_file() {
  return exists(kDevice) ? kDevice : exists(kWslDevice) ? std::string(kWslDevice) + ", WSL2" : "";
}

// What to do if the kernel has a driver and programs do not find its library.
Finding library_missing(const std::string& device, const std::string& error) {
  std::string text = "a driver is here (" + device + "), but programs cannot load its libcuda.so.1 (" + error + "); ";
  if (exists(kWslLibrary)) return {Verdict::bad, text + "it is in /usr/lib/wsl/lib: add that to LD_LIBRARY_PATH"};
  return {Verdict::bad, text + "in a container, start it with the GPU (docker run --gpus all, apptainer --nv)"};
}

// Whether programs get an answer from a driver.
Finding ask_driver(const std::string& python, bool& answers) {
  std::string device = device_file();
  ChildResult child = run_child({python, "-c", kAskDriver}, {{"LD_PRELOAD", ""}}, kDriverTime_s);
  size_t at = child.out.rfind("tprof-doctor ");
  std::string mark, word;
  std::istringstream words(at == child.out.npos ? "" : child.out.substr(at));
  words >> mark >> word;
  if (word == "error") {
    std::string error;
    std::getline(words >> std::ws, error);
    if (!device.empty()) return library_missing(device, error);
    return {Verdict::off,
            std::string("no NVIDIA driver here: neither ") + kDevice + " nor " + kWslDevice + ", and no libcuda.so.1"};
  }
  int code = -1, version = 0, devices = 0;
  if (word != "answer" || !(words >> code >> version >> devices)) {
    std::string how = child.signal       ? "killed a program by " + signal_text(child.signal)
                      : child.status < 0 ? "did not answer within " + std::to_string(kDriverTime_s) + " s"
                                         : "gave no answer: " + child.last_line();
    return {Verdict::bad, "libcuda.so.1 " + how};
  }
  if (code != 0)
    return {device.empty() ? Verdict::off : Verdict::bad,
            "libcuda.so.1 is here, but no driver answers: cuInit() "
            "returns " +
                std::to_string(code) + ", see nvidia-smi"};
  answers = true;
  std::string first = text_of_file("/proc/driver/nvidia/version");
  first = first.substr(0, first.find('\n'));
  return {Verdict::ok, "a driver answers: CUDA " + std::to_string(version / 1000) + "." +
                           std::to_string(version % 1000 / 10) + ", " + std::to_string(devices) +
                           (devices == 1 ? " GPU" : " GPUs") + (device.empty() ? "" : ", " + device) +
                           (first.empty() ? "" : "; " + first)};
}

std::string said(const std::map<std::string, std::string>& torch, const char* name) {
  auto it = torch.find(name);
  return it == torch.end() ? "" : it->second;
}

// What torch makes of it, unless it was not asked.
void add_torch(const std::map<std::string, std::string>& torch, bool answers, std::vector<Finding>& out) {
  std::string available = said(torch, "available"), built_for = said(torch, "cuda"), device = said(torch, "device");
  if (available.empty()) return;
  if (available == "True")
    out.push_back({Verdict::ok, "torch uses it" + (device.empty() ? "" : ": " + device)});
  else if (built_for == "None")
    out.push_back({Verdict::off, "this torch is built without CUDA"});
  else if (answers)
    out.push_back({Verdict::off, "torch for CUDA " + built_for + " does not use it: " + said(torch, "init_error")});
}

// What keeps CUPTI from recording the GPU, with the cure of each.
void add_obstacles(std::vector<Finding>& out) {
  bool admin_only = text_of_file("/proc/driver/nvidia/params").find("RmProfilingAdminOnly: 1") != std::string::npos;
  if (admin_only && geteuid() != 0)
    out.push_back({Verdict::off,
                   "the driver lets only root profile GPUs; if a run reports that it was refused: put 'options nvidia "
                   "NVreg_RestrictProfilingToAdminUsers=0' into a file in /etc/modprobe.d, and reload the driver or "
                   "reboot"});
  if (const char* chosen = getenv("TPROF_CUPTI"); chosen && *chosen && access(chosen, R_OK) != 0)
    out.push_back({Verdict::bad, std::string("TPROF_CUPTI=") + chosen + ": " + strerror(errno) +
                                     "; unset it, or name a libcupti.so of the program's CUDA"});
  if (const char* other = getenv("CUDA_INJECTION64_PATH"); other && *other && !strstr(other, "libtprof"))
    out.push_back({Verdict::off, std::string("CUDA_INJECTION64_PATH is already ") + other +
                                     "; it is kept, and only one tool can use CUPTI: if a run reports that it is in "
                                     "use, end the other tool (nsys, ncu, cuda-gdb, DCGM profiling)"});
  out.push_back({Verdict::ok,
                 "if a run reports that it finds no libcupti: pip install nvidia-cuda-cupti (CUDA 13) or "
                 "nvidia-cuda-cupti-cu12, or name one in TPROF_CUPTI; if libcupti is newer than the driver, name an "
                 "older one there or update the driver"});
}

}  // namespace

std::vector<Finding> look_at_cuda(const std::string& python, const std::map<std::string, std::string>& torch) {
  std::string device = device_file();
  if (python.empty())
    return {{Verdict::off, device.empty()
                               ? std::string("no NVIDIA driver here: neither ") + kDevice + " nor " + kWslDevice
                               : "a driver is here (" + device + "); not tried, since no Python runs"}};
  bool answers = false;
  std::vector<Finding> out = {ask_driver(python, answers)};
  add_torch(torch, answers, out);
  if (answers) add_obstacles(out);
  return out;
}

}  // namespace tprof::doctor
