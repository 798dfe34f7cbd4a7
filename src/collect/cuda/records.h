// Turns one activity record of any version of CUPTI into one record of ours. Pure: bytes in, record out.
#pragma once
#include <string.h>

#include "collect/cuda/abi.h"
#include "record/record.h"

namespace tprof {

// The size of a record of each kind in the loaded libcupti; 0: it does not know the kind.
class RecordSizes {
 public:
  // cuptiActivityGetNextRecord works without a driver: it gets a buffer with two records of each kind, and the distance
  // that it advances is the size. Headers and version numbers are not reliable for this.
  using NextRecord = int (*)(u8* buffer, size_t valid, u8** record);
  void probe(NextRecord next);

  u32 of(u32 kind) const { return kind < cupti::kRecordKinds ? sizes_[kind] : 0; }

 private:
  u16 sizes_[cupti::kRecordKinds] = {};
};

// A record in CUPTI's buffer. A field that this version of CUPTI does not have reads as `absent`.
struct ActivityView {
  const u8* at;
  u32 bytes;

  template <class T>
  T get(cupti::Field<T> field, T absent = {}) const {
    if (field.at + sizeof(T) > bytes) return absent;
    T value;
    memcpy(&value, at + field.at, sizeof value);
    return value;
  }
  u32 kind() const {
    u32 value;
    memcpy(&value, at, sizeof value);
    return value;
  }
};

// The record of ours that one of CUPTI's becomes.
struct GpuRecord {
  Kind kind{};    // which member below
  u32 bytes = 0;  // of that member
  u32 id = 0;     // of its head; set later for kernels and API calls, when their names are interned
  u32 correlation = 0;
  u64 begin_ns = 0;            // when it happened; 0: unknown (lost timestamps, events)
  bool unfinished = false;     // work that was still running when a forced flush handed it over
  const char* name = nullptr;  // of kernels
  union {
    RecordHead head;
    KernelRecord kernel;
    CopyRecord copy;
    SetRecord set;
    ApiRecord api;
    SyncRecord sync;
    GpuEventRecord event;
    OverheadRecord overhead;
    GpuMemoryRecord memory;
    GraphRecord graph;
    DeviceRecord device;
    ContextRecord context;
  };
  GpuRecord() : device{} {}
  bool is_work() const {
    return kind == Kind::kernel || kind == Kind::copy || kind == Kind::set || kind == Kind::graph;
  }
};

// False: not a kind that is recorded.
bool read_activity(const ActivityView& activity, GpuRecord& out);

}  // namespace tprof
