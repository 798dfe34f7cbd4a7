// The rules of `tprof check` for the GPU side of a trace: the links between calls, GPU activities and operators.
#pragma once
#include "check/rules.h"

namespace tprof {

class GpuChecker {
 public:
  explicit GpuChecker(Findings& findings) : findings_(findings) {}

  // An X event; `category` in lower case, `begin` in ns.
  void check_range(std::string_view category, i64 begin, const Where& where);
  // Any other event.
  void check_other(std::string_view phase, std::string_view name, std::string_view category, const Where& where);
  void devices(u64 count) { devices_ = i64(count); }
  void finish();

 private:
  struct Linked {
    i64 correlation, external_id, begin;
    u32 event;
    bool has_external_id;
  };
  void finish_calls();

  Findings& findings_;
  i64 devices_ = 0, last_memory_device_ = -1;
  std::vector<Linked> calls_, work_;
  std::vector<i64> range_ids_;
  std::vector<i64> flow_starts_, flow_ends_;
};

}  // namespace tprof
