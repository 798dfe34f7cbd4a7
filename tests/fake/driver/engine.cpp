#include "engine.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "switches.h"

namespace sim {
namespace {

thread_local Context* current_context;
thread_local Call* current_call;

int devices_wanted() { return int(std::min<u64>(number_of(Switch::SIMCUDA_DEVICES), 8)); }

// CUDA_INJECTION64_PATH as libcuda serves it: loaded at the end of cuInit, InitializeInjection called once.
void inject() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == 0 || strcmp(path, "none") == 0) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto start = library != nullptr ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
  if (start != nullptr) start();
}

}  // namespace

Engine::Engine() : memory_(devices_wanted(), number_of(Switch::SIMCUDA_MEMORY)) {
  for (int i = 0; i < devices_wanted(); i++) {
    Device* device = new Device;
    device->index = i;
    snprintf(device->name, sizeof device->name, "Simulated H100");
    memset(device->uuid, 0x50 + i, sizeof device->uuid);
    device->memory_bytes = memory_.total();
    device->memory_bytes_per_s = 3350000000000;
    devices_.push_back(device);
    Pool* pool = new Pool;
    pool->device = device;
    pool->address = 0x7000000000 + 0x1000 * ++last_pool_;
    default_pools_.push_back(pool);
  }
  primaries_.resize(devices_.size());
}

// An injected library may call CUDA itself.
int Engine::initialize() {
  thread_local bool injecting;
  if (!injecting) {
    injecting = true;
    std::call_once(initialized_, inject);
    injecting = false;
  }
  return devices_.empty() ? kErrorNoDevice : kSuccess;
}

int Engine::version() { return int(number_of(Switch::SIMCUDA_DRIVER)); }

void Engine::listen(Listener* listener) { listener_ = listener; }

// Calls ---------------------------------------------------------------------------------------------------------

u32 Engine::correlation() const { return current_call != nullptr ? current_call->correlation : 0; }

// The answer that SIMCUDA_FAIL asks for, 0 for none.
int Engine::refusal(const char* function) {
  const char* wanted = text_of(Switch::SIMCUDA_FAIL);
  size_t length = strlen(function);
  while (wanted != nullptr && *wanted != 0) {
    if (strncmp(wanted, function, length) == 0 && wanted[length] == ':') {
      char* rest;
      int which = int(strtol(wanted + length + 1, &rest, 0));
      int code = *rest == ':' ? int(strtol(rest + 1, nullptr, 0)) : int(kErrorMemoryAllocation);
      Guard guard(mutex_);
      int count = ++calls_of_[function];
      return which == 0 || which == count ? code : 0;
    }
    wanted = strchr(wanted, ',');
    if (wanted != nullptr) wanted++;
  }
  return 0;
}

void Engine::enter(Call& call) {
  call.outer = current_call;
  call.correlation = call.outer != nullptr ? call.outer->correlation : ++last_correlation_;
  current_call = &call;
  call.begin = clock_.now();
  if (Listener* listener = listener_) listener->enter(call);
  call.result = refusal(call.name);
  call.refused = call.result != 0;
}

void Engine::leave(Call& call) {
  clock_.call_returns();
  call.end = clock_.now();
  if (Listener* listener = listener_) listener->leave(call);
  current_call = call.outer;
}

// Devices and contexts ------------------------------------------------------------------------------------------

Device* Engine::device(int index) { return index >= 0 && index < device_count() ? devices_[index] : nullptr; }

Context* Engine::add_context(int device, bool primary) {
  Context* context = new Context;
  {
    Guard guard(mutex_);
    context->id = ++last_context_;
    context->device = devices_[device];
    context->primary = primary;
    contexts_.push_back(context);
  }
  if (Listener* listener = listener_) listener->context(*context);
  add_stream(context, 0, 0);
  return context;
}

Context* Engine::primary(int device) {
  if (device < 0 || device >= device_count()) return nullptr;
  Context* made;
  {
    static std::mutex making;  // held while CUPTI is told, so that there is one
    Guard guard(making);
    made = primaries_[device];
    if (made == nullptr) made = primaries_[device] = add_context(device, true);
  }
  return made;
}

Context* Engine::create_context(int device) {
  return device >= 0 && device < device_count() ? add_context(device, false) : nullptr;
}

Context* Engine::current() { return current_context; }

void Engine::set_current(Context* context) { current_context = context; }

std::vector<Context*> Engine::contexts() {
  Guard guard(mutex_);
  return contexts_;
}

}  // namespace sim

extern "C" __attribute__((visibility("default"))) sim::Driver* simcuda_driver() {
  static sim::Engine* engine = new sim::Engine;  // never destroyed: calls come until the very end of a process
  return engine;
}
