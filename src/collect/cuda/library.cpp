#include "collect/cuda/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <initializer_list>

#include "base/elf.h"

namespace tprof {
namespace {

constexpr u32 kNewest = 13, kOldest = 11;

// The table of functions that every libcupti, from 11 to 13, asks the driver for first. What only stands in for the
// driver (the toolkit's stub, an emulation of CUDA) does not have it, and for libcupti is no driver.
constexpr u8 kFirstTable[16] = {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42,
                                0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed, 0x7f};

template <class Find>
bool resolve(CuptiApi& api, Find find) {
  constexpr bool required = true, optional = false;
#define CUPTI(need, name, arguments)                            \
  api.name = reinterpret_cast<decltype(api.name)>(find(#name)); \
  if (need && !api.name) return false;
#include "collect/cuda/cupti_api.def"
#undef CUPTI
  (void)optional;
  return true;
}

bool accept(CuptiLibrary& out, const char* path) {
  if (!cuda_driver_mapped()) return false;
  snprintf(out.path, sizeof out.path, "%s", path);
  if (out.api.cuptiGetVersion(&out.version) != cupti::kSuccess) return false;
  out.sizes.probe(out.api.cuptiActivityGetNextRecord);
  return true;
}

bool open_file(CuptiLibrary& out, const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return false;
  if (resolve(out.api, [&](const char* name) { return dlsym(handle, name); }) && accept(out, path)) return true;
  dlclose(handle);
  return false;
}

// In CUDA 11 the file name also has the minor version.
template <class Use>
bool each_soname(u32 major, Use use) {
  char name[32];
  if (major >= 12) {
    snprintf(name, sizeof name, "libcupti.so.%u", major);
    return use(name);
  }
  for (int minor = 8; minor >= 0; minor--) {
    snprintf(name, sizeof name, "libcupti.so.%u.%d", major, minor);
    if (use(name)) return true;
  }
  return false;
}

bool open_in(CuptiLibrary& out, const char* directory, int length, const char* below, u32 major) {
  return each_soname(major, [&](const char* name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s/%s%s", length, directory, below, name);
    return n < int(sizeof path) && access(path, R_OK) == 0 && open_file(out, path);
  });
}

bool open_in_library_path(CuptiLibrary& out, u32 major) {
  const char* at = getenv("LD_LIBRARY_PATH");
  while (at && *at) {
    const char* end = at + strcspn(at, ":;");
    if (end > at && open_in(out, at, int(end - at), "", major)) return true;
    at = *end ? end + 1 : end;
  }
  return false;
}

bool open_beside_runtime(CuptiLibrary& out, const ElfObject& runtime, u32 major) {
  const char* slash = strrchr(runtime.path(), '/');
  if (!slash) return false;
  // The toolkit, and pip since CUDA 13; pip before; CUPTI's own folder in the toolkit, from lib64 and from
  // targets/*/lib.
  for (const char* below : {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/"})
    if (open_in(out, runtime.path(), int(slash - runtime.path()), below, major)) return true;
  return false;
}

bool open_anywhere(CuptiLibrary& out, u32 major) {
  if (each_soname(major, [&](const char* name) { return open_file(out, name); })) return true;
  for (const char* directory : {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"})
    if (open_in(out, directory, int(strlen(directory)), "", major)) return true;
  return false;
}

u32 major_of(const ElfObject& object, const char* function) {
  int (*version)(int*);
  int value = 0;
  if (!object.found() || !object.symbol(version, function) || version(&value) != 0) return 0;
  return u32(value) / 1000;
}

}  // namespace

u32 CuptiLibrary::major() const {
  constexpr char kName[] = "libcupti.so.";
  const char* at = strstr(path, kName);
  u32 named = at ? u32(atoi(at + strlen(kName))) : 0;
  return named ? named : version >= 130000 ? version / 10000 : kNewest - 1;
}

u32 mapped_driver_major() { return major_of(ElfObject::mapped("libcuda.so"), "cuDriverGetVersion"); }

bool cuda_driver_mapped() {
  int (*get_table)(const void** table, const u8* id);
  const void* table = nullptr;
  ElfObject driver = ElfObject::mapped("libcuda.so");
  return driver.found() && driver.symbol(get_table, "cuGetExportTable") && get_table(&table, kFirstTable) == 0 && table;
}

bool cuda_driver_found() {
  return cuda_driver_mapped() || (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) && cuda_driver_mapped());
}

bool find_mapped_cupti(CuptiLibrary& out) {
  ElfObject mapped = ElfObject::mapped("libcupti.so");
  return mapped.found() && resolve(out.api, [&](const char* name) { return mapped.symbol(name); }) &&
         accept(out, mapped.path());
}

bool find_cupti(CuptiLibrary& out, const char* chosen, u32 below) {
  out = {};
  if (*chosen) {
    if (below == 0 && open_file(out, chosen)) return true;
    snprintf(out.why, sizeof out.why, "TPROF_CUPTI=%.180s cannot be used", chosen);
    return false;
  }
  if (below == 0 && find_mapped_cupti(out)) return true;
  ElfObject runtime = ElfObject::mapped("libcudart.so");
  u32 major = major_of(runtime, "cudaRuntimeGetVersion");
  if (!major) major = mapped_driver_major();
  if (!major || major > kNewest) major = kNewest;
  u32 first = below && below <= major ? below - 1 : major;
  // The program's own major version, then any other that might work.
  u32 order[] = {first, kNewest, kNewest - 1, kOldest};
  for (u32 i = 0; i < 4; i++) {
    u32 m = order[i];
    if ((i && m == first) || m < kOldest || (below && m >= below)) continue;
    if (open_in_library_path(out, m) || (runtime.found() && open_beside_runtime(out, runtime, m)) ||
        open_anywhere(out, m))
      return true;
  }
  snprintf(out.why, sizeof out.why, "no libcupti of CUDA %u was found", major);
  return false;
}

}  // namespace tprof
