#include "parquet/levels.h"

#include <algorithm>

#include "parquet/thrift.h"

namespace tprof::parquet {
namespace {

constexpr size_t kGroup = 8;  // bit-packed values come in groups of it

size_t run_at(const std::vector<u32>& values, size_t at) {
  size_t end = at + 1;
  while (end < values.size() && values[end] == values[at]) end++;
  return end - at;
}

void put_run(std::string& out, u32 value, size_t count, u32 bits) {
  put_varint(out, u64(count) << 1);
  for (u32 done = 0; done < bits; done += 8) out += char(value >> done);
}

// [first, end), the last group filled up with zeros.
void put_packed(std::string& out, const std::vector<u32>& values, size_t first, size_t end, u32 bits) {
  size_t groups = (end - first + kGroup - 1) / kGroup;
  put_varint(out, u64(groups) << 1 | 1);
  u64 waiting = 0;
  u32 count = 0;
  for (size_t i = first; i < first + groups * kGroup; i++) {
    waiting |= u64(i < end ? values[i] : 0) << count;
    for (count += bits; count >= 8; count -= 8, waiting >>= 8) out += char(waiting);
  }
}

}  // namespace

std::string encode_levels(const std::vector<u32>& values, u32 bits) {
  std::string out;
  size_t at = 0, packed = 0;  // [packed, at): not written yet, a multiple of groups
  auto put_waiting = [&] {
    if (packed < at) put_packed(out, values, packed, at, bits);
  };
  while (at < values.size()) {
    size_t run = run_at(values, at);
    if (run >= kGroup) {
      put_waiting();
      put_run(out, values[at], run, bits);
      packed = at += run;
    } else {
      at = std::min(at + kGroup, values.size());
    }
  }
  put_waiting();
  return out;
}

}  // namespace tprof::parquet
