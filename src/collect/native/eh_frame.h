// Finds the call frame information (.eh_frame) of an address, by the search table that the linker made.
#pragma once
#include "collect/native/dwarf.h"
#include "collect/native/frame_rule.h"

namespace tprof {

// What all functions of an object's common entry share.
struct Cie {
  u64 code_align = 1;
  i64 data_align = 1;
  u8 encoding = 0;                         // of pointers, dwarf::Encoding
  bool has_data = false;                   // its functions' entries have augmentation data
  bool signal = false;                     // frames of signal handlers
  dwarf::Bytes program{nullptr, nullptr};  // DW_CFA_* operations
};

// The entry of one function.
struct Fde {
  Cie cie;
  u64 begin = 0, end = 0;  // its code
  dwarf::Bytes program{nullptr, nullptr};
};

// False: there is none, or it is written in a way that is not understood.
bool find_fde(const EhFrame& eh, u64 pc, Fde& out);

}  // namespace tprof
