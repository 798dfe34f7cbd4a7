#include "collect/cuda/api_names.h"

#include <stdio.h>

#include "collect/recorder/recorder.h"

namespace tprof {

#define DRIVER(cbid, name)
#define NOISE(cbid, name) cbid,
const u32 kNoiseCalls[] = {
#include "collect/cuda/cupti_calls.def"
};
#undef NOISE
#undef DRIVER
#define NOISE(cbid, name)
#define DRIVER(cbid, name) cbid,
const u32 kDriverCalls[] = {
#include "collect/cuda/cupti_calls.def"
};
#undef DRIVER
#undef NOISE
const u32 kNoiseCallCount = sizeof kNoiseCalls / sizeof *kNoiseCalls;
const u32 kDriverCallCount = sizeof kDriverCalls / sizeof *kDriverCalls;

namespace {

constexpr u32 kMaxFunctions = 2048;  // CUDA 13 has about 520 of the runtime and 800 of the driver
ApiName g_names[2][kMaxFunctions];
ApiName g_other;  // any function with a higher number

bool listed(const u32* calls, u32 count, u32 cbid) {
  for (u32 i = 0; i < count; i++)
    if (calls[i] == cbid) return true;
  return false;
}

void fill(ApiName& out, const CuptiLibrary& library, bool driver, u32 cbid) {
  const char* name = nullptr;
  u32 domain = driver ? cupti::kDriverDomain : cupti::kRuntimeDomain;
  char text[128];
  if (library.api.cuptiGetCallbackName(domain, cbid, &name) != cupti::kSuccess || !name)
    snprintf(text, sizeof text, "%s function %u", driver ? "CUDA driver" : "CUDA runtime", cbid);
  else
    snprintf(text, sizeof text, "%s", name);
  // cudaLaunchKernel_v7000: the version is CUPTI's, not the function's name.
  char* last = strrchr(text, '_');
  if (last && last[1] == 'v' && last[2] && strspn(last + 2, "0123456789") == strlen(last + 2)) *last = 0;
  out.id = intern_bytes(text, strlen(text));
  out.skipped = driver ? !listed(kDriverCalls, kDriverCallCount, cbid) : listed(kNoiseCalls, kNoiseCallCount, cbid);
  out.launches = strstr(text, "GraphLaunch") || strstr(text, "LaunchKernel") || strstr(text, "LaunchCooperativeKernel");
  out.begins_capture = strstr(text, "StreamBeginCapture");
  out.ends_capture = strstr(text, "StreamEndCapture");
  out.known = true;
}

}  // namespace

const ApiName& api_name(const CuptiLibrary& library, u32 cbid) {
  bool driver = cbid & kApiDriver;
  u32 number = cbid & ~kApiDriver;
  ApiName& name = number < kMaxFunctions ? g_names[driver][number] : g_other;
  if (!name.known || &name == &g_other) fill(name, library, driver, number);
  return name;
}

}  // namespace tprof
