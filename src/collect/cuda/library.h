// Finds and loads a libcupti at run time; nothing of it is ever linked. Which one: TPROF_CUPTI; the one that the process
// has mapped already; else one of the CUDA major that the program uses, from LD_LIBRARY_PATH, from beside the mapped
// libcudart (toolkit and pip layouts), or wherever the loader looks.
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
  u32 version = 0;  // what cuptiGetVersion says
  RecordSizes sizes;
  char path[512] = {};
  char why[256] = {};  // nothing was found: what was looked for

  u32 major() const;  // of the CUDA that it belongs to
};

// `chosen`: TPROF_CUPTI or "". `below`: only majors below that one are looked for, because that one turned out to be
// too new for the driver; 0 at first. Takes about 1 ms. Opens files and runs libcupti's constructors, which need libc
// alone: so even where this runs inside another dlopen it enters nothing half-initialised.
bool find_cupti(CuptiLibrary& out, const char* chosen, u32 below);

// The one that the process has mapped. Opens nothing.
bool find_mapped_cupti(CuptiLibrary& out);

// CUDA major of the mapped libcudart, 0 if there is none; the same for the mapped driver (0 also if it is a stub).
u32 mapped_runtime_major();
u32 mapped_driver_major();

}  // namespace tprof
