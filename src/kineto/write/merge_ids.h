// Numbers that are unique over all traces of a merge.
#pragma once
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/types.h"

namespace tprof::kineto {

inline bool to_integer(std::string_view text, i64& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// Ids of one kind of thing may equal those of another within a trace, and readers rely on some that are equal, so all
// ids of a trace are moved by the same number.
class MergeIds {
 public:
  // Those of the next trace come after all others.
  void next_part() {
    base_ = first_free_;
    large_.clear();
  }
  i64 operator()(i64 id) {
    if (id < 0) return id;
    if (id >= kLarge) id = kLarge + large_.try_emplace(id, i64(large_.size())).first->second;
    if (base_ + id >= first_free_) first_free_ = base_ + id + 1;
    return base_ + id;
  }

 private:
  static constexpr i64 kLarge = i64(1) << 40;  // a thousand traces with such ids stay below 2^53, as viewers need
  i64 base_ = 0, first_free_ = 0;
  std::unordered_map<i64, i64> large_;
};

// Processes or threads: a number is kept by the first track that has it, others get a new one.
class MergeRows {
 public:
  // `of`: the process, for threads.
  i64 operator()(u32 track, i64 of, std::string_view text) {
    if (track == last_track_ && of == last_of_ && text == last_text_) return last_;
    last_track_ = track, last_of_ = of, last_text_ = text;
    auto [at, added] = known_.try_emplace({track, of, last_text_}, 0);
    if (added) at->second = number_for(track, text);
    return last_ = at->second;
  }

 private:
  struct Owner {
    u32 track;
  };
  i64 number_for(u32 track, std::string_view text) {
    i64 number;
    if (to_integer(text, number) && number >= 0 &&
        owner_.try_emplace(number, Owner{track}).first->second.track == track)
      return number;
    while (!owner_.try_emplace(next_, Owner{track}).second) next_++;
    return next_++;
  }

  std::map<std::tuple<u32, i64, std::string>, i64> known_;
  std::unordered_map<i64, Owner> owner_;
  i64 next_ = 1'000'000'000;  // no process, thread, device or stream has it; below 2^31
  u32 last_track_ = 0;
  i64 last_of_ = 0, last_ = 0;
  std::string last_text_;
};

}  // namespace tprof::kineto
