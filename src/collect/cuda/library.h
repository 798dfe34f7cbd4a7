// Finds and loads a libcupti at run time; tprof is never linked with one. It takes the one that TPROF_CUPTI names; else
// the one that the process has already mapped; else one of the CUDA major version that the program uses, from
// LD_LIBRARY_PATH, from beside the mapped libcudart (toolkit and pip layouts), or from where the loader looks.
#pragma once
#include "collect/cuda/records.h"

namespace tprof {

struct CuptiApi {
#define CUPTI(need, name, arguments) int(*name) arguments = nullptr;
#include "collect/cuda/cupti_api.def"
#undef CUPTI
};

struct CuptiLibrary {
  CuptiApi api;
  u32 version = 0;  // as cuptiGetVersion reports it
  RecordSizes sizes;
  char path[512] = {};
  char why[256] = {};  // if none was found: what was looked for

  u32 major() const;  // of the CUDA version that it belongs to
};

// Whether this machine has a CUDA driver that libcupti can work with: libcuda.so.1 is mapped, or the loader finds it,
// which then maps it, and it is no stub. cuInit is not called. No function of libcupti is called before this is true:
// otherwise any function of CUDA 13.2's calls itself until the stack ends.
bool cuda_driver_found();
bool cuda_driver_mapped();  // the same, but loads nothing

// After cuda_driver_found(). `chosen`: TPROF_CUPTI or "". `below`: only major versions below it are considered, since
// that one turned out to be too new for the driver; 0 at first. Takes about 1 ms. Opens files and runs libcupti's
// constructors. These need only libc, so nothing half-initialised is entered even if this runs inside another dlopen.
bool find_cupti(CuptiLibrary& out, const char* chosen, u32 below);

// Finds only the one that the process has mapped, after cuda_driver_found(). Opens no file.
bool find_mapped_cupti(CuptiLibrary& out);

// The CUDA major version of the mapped driver, 0 if none is mapped or it is a stub.
u32 mapped_driver_major();

}  // namespace tprof
