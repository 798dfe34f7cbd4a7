// The details of an NVTX range or mark besides its name.
#pragma once
#include "record/record.h"

namespace tprof {

struct NvtxDetail {
  static constexpr u32 kNone = 0xffffffff;
  u64 payload = 0;
  u32 domain = kNone;    // index into Model::names
  u32 category = kNone;  // index into Model::names, or a number
  u32 color = 0;         // ARGB, 0 none
  bool category_is_number = false;
  NvtxPayload payload_type = NvtxPayload::none;
};

// An instant of a thread.
struct NvtxMark {
  i64 ns;
  u32 name;    // index into Model::names
  u32 thread;  // index into Model::threads
  NvtxDetail detail;
};

// `names` maps a name id to an index into Model::names.
template <class Names>
NvtxDetail detail_of(const NvtxRecord& r, const Names& names) {
  NvtxDetail d;
  d.payload = r.payload;
  d.payload_type = static_cast<NvtxPayload>(r.payload_type);
  if (r.domain) d.domain = names(r.domain);
  d.category_is_number = r.category & kNvtxNumber;
  if (r.category) d.category = d.category_is_number ? r.category & ~kNvtxNumber : names(r.category);
  d.color = r.color;
  return d;
}

}  // namespace tprof
