#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/elf.h"
#include "collect/recorder/recorder.h"
#include "collect/start/attach.h"
#include "record/writer.h"

namespace tprof {

constinit std::atomic<const Caller*> g_caller_slots[kCallerSlots] = {};

namespace {

// What is looked for: NCCL's functions by the names that its profiling interface gives the real ones.
enum class Of { cuda, nccl, torch };
struct Wanted {
  const char* name;
  Of of;
  const char* library = "";  // torch's own, see TORCH
};
constexpr Wanted kWanted[] = {
#define CUDA(name, twin, ...) CUDA_##twin(name)
#define CUDA_one(name) {#name, Of::cuda},
#define CUDA_ptsz(name) {#name, Of::cuda}, {#name "_ptsz", Of::cuda},
#define CUDA_ptds(name) {#name, Of::cuda}, {#name "_ptds", Of::cuda},
#define NCCL(name, ...) {"p" #name, Of::nccl},
#define PROFILER(name, ...) {#name, Of::cuda},
#define ENTRY_POINT(name, ...) {#name, Of::cuda},
#define ASKED(name) {#name, Of::cuda},
#define NCCL_ASKED(name) {"p" #name, Of::nccl},
#define TORCH(name, library, symbol) {symbol, Of::torch, library},
#include "hooks.def"
};

std::atomic<Caller*> g_callers{nullptr};  // newest first
SpinLock g_callers_lock;
constexpr u32 kMaxNeeded = 256;  // libraries of a dependency tree that are searched

bool is_ours(const ElfObject& object) { return object.holds(&g_callers); }

// A CUDA runtime or NCCL, whatever the file is called (wheels carry libcudart-<hash>.so.11.0).
bool is_library(const ElfObject& object) {
  const char* file = object.file();
  return !strncmp(file, "libcudart", 9) || !strncmp(file, "libnccl", 7);
}

// The first library in the caller's dependency tree that exports the function. Breadth first, as the loader searches.
ElfObject in_tree(const ElfObject& root, const char* name) {
  const char* needed[kMaxNeeded];
  u32 count = 0;
  auto add = [&](const char* n) {
    bool known = count == kMaxNeeded;
    for (u32 i = 0; i < count && !known; i++) known = !strcmp(needed[i], n);
    if (!known) needed[count++] = n;
    return false;
  };
  root.any_needed(add);
  for (u32 i = 0; i < count; i++) {
    ElfObject object = ElfObject::first([&](const ElfObject& o) { return !is_ours(o) && o.is_called(needed[i]); });
    if (!object.found()) continue;
    if (object.symbol(name)) return object;
    object.any_needed(add);
  }
  return {};
}

// The caller, and whether it comes before this library in load order. A caller before it that exports the name itself
// has found this library by RTLD_NEXT, and must not get its own function back.
struct CallSite {
  ElfObject caller;
  bool after_us = false;
};

CallSite call_site_of(const void* address) {
  CallSite site;
  bool passed = false;
  site.caller = ElfObject::first([&](const ElfObject& o) {
    passed |= is_ours(o);
    return o.holds(address);
  });
  site.after_us = passed;
  return site;
}

// Another preloaded library that wraps the function too and comes after this one in load order. It is called instead of
// the real function, and calls that itself.
void* next_wrapper(const ElfObject& caller, const char* name) {
  auto low = caller.low();
  ElfObject other = ElfObject::first(
      [&](const ElfObject& o) { return !is_ours(o) && !is_library(o) && o.low() != low && o.symbol(name); });
  void* next = other.found() ? dlsym(RTLD_NEXT, name) : nullptr;
  return next && other.holds(next) ? next : nullptr;
}

// Keeps the library mapped, since pointers into it are kept. Its constructors have run already.
void pin(const void* function) {
  ElfObject object = ElfObject::first([&](const ElfObject& o) { return o.holds(function); });
  if (object.found() && object.path()[0]) dlopen(object.path(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void* search(const char* name, const void* address) {
  CallSite site = call_site_of(address);
  if (void* next = next_wrapper(site.caller, name)) return next;
  if (site.after_us && !is_ours(site.caller))
    if (void* own = site.caller.symbol(name)) return own;
  ElfObject object = in_tree(site.caller, name);
  if (!object.found())
    object = ElfObject::first(
        [&](const ElfObject& o) { return !is_ours(o) && o.low() != site.caller.low() && o.symbol(name); });
  return object.found() ? object.symbol(name) : nullptr;
}

// Without the loader's lock: the thread may hold the GIL, for which another one waits in the middle of an import.
void* search_torch(const Wanted& wanted, const void* address) {
  ElfObject caller = call_site_of(address).caller;
  if (void* own = is_ours(caller) ? nullptr : caller.symbol(wanted.name)) return own;
  ElfObject object = in_tree(caller, wanted.name);
  if (!object.found()) object = ElfObject::mapped(wanted.library);
  if (void* found = object.symbol(wanted.name)) return found;
  return ElfObject::first([&](const ElfObject& o) { return !is_ours(o) && o.symbol(wanted.name); }).symbol(wanted.name);
}

void* search(const Wanted& wanted, const void* address) {
  if (wanted.of == Of::torch) return search_torch(wanted, address);
  // A later wrapper of NCCL has the name that programs call, not the one that NCCL's profiling interface uses.
  if (wanted.of == Of::nccl)
    if (void* next = next_wrapper(call_site_of(address).caller, wanted.name + 1)) return next;
  void* found = search(wanted.name, address);
  if (!found && wanted.of == Of::nccl) found = search(wanted.name + 1, address);
  return found;
}

Caller* known_caller(uintptr_t at) {
  Caller* c = g_callers.load(std::memory_order_acquire);
  while (c && at - c->low >= c->bytes.load(std::memory_order_relaxed)) c = c->next.load(std::memory_order_relaxed);
  return c;
}

u32 path_hash_of(const ElfObject& object) { return hash_of(object.path(), strlen(object.path())); }

// nullptr: no memory.
Caller* add_caller(const ElfObject& object) {
  void* fresh = mmap(nullptr, sizeof(Caller), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  auto* caller = static_cast<Caller*>(fresh);
  caller->low = object.low();
  caller->bytes = object.high() - object.low();
  caller->path_hash = path_hash_of(object);
  caller->next.store(g_callers.load(), std::memory_order_relaxed);
  g_callers.store(caller, std::memory_order_release);
  return caller;
}

Caller* caller_at(const void* address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  Caller* caller = known_caller(at);
  if (!caller) {
    ElfObject object =
        call_site_of(address).caller;  // code made at run time belongs to no library: looked up each time
    if (!object.found()) return nullptr;
    // Not waited for: a forked child may have got it while another thread of its parent held it.
    if (!g_callers_lock.try_lock()) return nullptr;
    if (!(caller = known_caller(at))) caller = add_caller(object);
    g_callers_lock.unlock();
    if (!caller) return nullptr;
  }
  g_caller_slots[(at >> kCallerShift) % kCallerSlots].store(caller, std::memory_order_release);
  return caller;
}

}  // namespace

// In one walk. What is found again is marked with the number of the call: several threads may unload at a time.
void forget_unloaded_callers() {
  static constinit std::atomic<u32> calls{0};
  Caller* callers = g_callers.load(std::memory_order_acquire);
  if (!callers) return;
  int saved = errno;
  u32 call = ++calls;
  ElfObject::first([&](const ElfObject& o) {
    for (Caller* c = callers; c; c = c->next.load(std::memory_order_relaxed))
      if (o.low() == c->low && o.high() - o.low() == c->bytes && path_hash_of(o) == c->path_hash) c->seen = call;
    return false;
  });
  for (Caller* c = callers; c; c = c->next.load(std::memory_order_relaxed))
    if (i32(c->seen - call) < 0) c->bytes = 0;
  errno = saved;
}

__attribute__((noinline)) void* find_function(Hook hook, const void* address) {
  int saved = errno;
  const Wanted& wanted = kWanted[u32(hook)];
  Caller* caller = caller_at(address);
  void* found = caller ? caller->functions[u32(hook)].load(std::memory_order_relaxed) : nullptr;
  if (!found) found = search(wanted, address);
  // Before the function is published, so that the first calls of other threads wait for this.
  if (found && wanted.of == Of::cuda) cuda_attach();
  if (found && caller && !caller->functions[u32(hook)].load(std::memory_order_relaxed)) {
    if (wanted.of != Of::torch) pin(found);  // torch's are needed by the caller, and stay for as long as that
    caller->functions[u32(hook)].store(found, std::memory_order_release);
  }
  errno = saved;
  return found;
}

}  // namespace tprof
