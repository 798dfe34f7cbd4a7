// The recordings of a program's helper processes (data-loader workers and the like), kept few and small by the
// program's finisher. Of a helper that has ended, a recording without anything that a window of the program covers goes
// away; others are folded into one file per slot, <host>_<pid>.<time_ns>.worker<k>.tprof. The k-th slot is that of the
// k-th helper living at one time.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "record/reader.h"

namespace tprof {

// What a helper's recording says of it.
struct HelperLife {
  u64 first_ticks = 0, last_ticks = 0;
  u64 events = 0;
};

class Workers {
 public:
  explicit Workers(const Recording& leader);
  ~Workers();
  Workers(const Workers&) = delete;

  // Looks for those that have ended; true when there are some.
  bool look();
  // The same at most once a second, and for a hundredth of a processor: a log directory may be shared by many.
  bool look_now_and_then();
  // Those found by the last look. `leader`: what is known of its windows now; `over`: nothing will be added to that.
  // `keep`: also what no window covers. What goes beyond TPROF_MAX_SIZE is counted in the slot, as a program counts it;
  // on a full disk all stays as it is, and is tried again when the program is over.
  void fold(const Meta& leader, bool over, bool keep);
  // As of the last look.
  bool some_live() const { return live_ > 0; }

 private:
  struct Slot {
    int fd;          // -1: the name is somebody else's
    u64 begin, end;  // of the last recording in it
    u64 last_ticks;  // when its last helper ended
  };
  // What names a process's recording: its pid, and when it was created.
  using Id = std::pair<u32, u64>;

  bool is_ours(const FileHeader& header) const;
  std::string slot_path(size_t number) const;
  void find_slots();
  Slot* slot_for(u64 first_ticks);
  bool put_into_slot(Recording& recording, const HelperLife& life, u64 most_bytes);

  std::string directory_, stem_;
  u32 pid_;
  u64 created_ns_;
  std::string boot_id_;
  std::set<std::string> strangers_;  // recordings that are none of ours
  std::vector<std::string> ended_;
  size_t live_ = 0;
  std::vector<Slot> slots_;
  bool no_room_ = false;
  std::set<Id> folded_;  // by a finisher that was killed: their own files may still be there
  u64 next_look_ns_ = 0;
};

// How many recordings of helpers a directory holds beside those in `before`.
size_t count_workers(const std::string& directory, const std::set<std::string>& before);

}  // namespace tprof
