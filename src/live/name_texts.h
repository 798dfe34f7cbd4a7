// The texts of names of a recording that is being written. Programs that give each step a name of its own make names
// without end, so only those that were asked for last are kept; others are read again from the file.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "record/reader.h"

namespace tprof::live {

class NameTexts {
 public:
  explicit NameTexts(Recording& recording) : recording_(recording) {}

  // Each name of the meta stream, in its order. The text of a name record.
  void add(const RecordView& name);
  static std::string_view text_of(const RecordView& name);

  // "(name lost)" if there is none. The reference is valid until the next call.
  const std::string& operator()(u32 id);

 private:
  void keep(u32 id, std::string_view text);

  static constexpr size_t kMostKept = 1 << 14;
  Recording& recording_;
  std::unordered_map<u32, std::string> kept_;
  std::vector<std::pair<u32, u32>> chunks_;  // (first id, chunk), ascending: ids are given in order
};

}  // namespace tprof::live
