// The recordings of a program's helper processes, such as data-loader workers, which the program's finisher keeps few
// and small. When a helper has ended, its recording is removed if no window of the program covers any of its events.
// Otherwise it is folded into the file of a slot, <host>_<pid>.<time_ns>.worker<k>.tprof; there are as many slots as
// helpers lived at the same time.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "record/reader.h"

namespace tprof {

// When a helper lived, in ticks, and how many events it recorded.
struct HelperLife {
  u64 first_ticks = 0, last_ticks = 0;
  u64 events = 0;
};

class Workers {
 public:
  explicit Workers(const Recording& leader);
  ~Workers();
  Workers(const Workers&) = delete;

  // Looks for helpers that have ended; true if there are any.
  bool look();
  // The same, but at most once a second and with at most 1 % of a processor: many processes may share a log directory.
  bool look_now_and_then();
  // Folds the recordings that the last look has found. `leader`: the program's windows as far as they are known;
  // `over`: they are final. `keep`: also fold recordings that no window covers. Events beyond TPROF_MAX_SIZE are
  // dropped and counted in the slot. If the disk is full, the recordings stay as they are until the program has ended.
  void fold(const Meta& leader, bool over, bool keep);
  // Whether the last look found helpers that are running.
  bool some_live() const { return live_ > 0; }

 private:
  struct Slot {
    int fd;          // -1: a file of another program has this name
    u64 begin, end;  // of the last recording in the file
    u64 last_ticks;  // when its last helper ended
  };
  // A process and its recording: its pid, and when the recording was created.
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
  std::set<std::string> strangers_;  // recordings that do not belong to helpers of this program
  std::vector<std::string> ended_;
  size_t live_ = 0;
  std::vector<Slot> slots_;
  bool no_room_ = false;
  std::set<Id> folded_;  // by a finisher that was killed; the original files may still exist
  u64 next_look_ns_ = 0;
};

// How many recordings of helpers a directory holds, without those in `before`.
size_t count_workers(const std::string& directory, const std::set<std::string>& before);

}  // namespace tprof
