#include "finish/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/file_modes.h"
#include "convert/convert.h"
#include "input/trace_file.h"
#include "model/build.h"
#include "model/loader_load.h"
#include "record/fold.h"
#include "record/regular_file.h"

namespace tprof {
namespace {

constexpr u64 kLookEvery_ns = 1'000'000'000;
constexpr u64 kShareOfTime = 100;

enum class Covered { no, perhaps, yes };

struct Cover {
  u64 begin, end;  // ticks
  Covered covered;
};

// The first step of a window is tentative until an operator follows. Until then the window may still start later, or
// not at all.
bool has_begun(const WindowInfo& w, const Meta& meta) {
  if (w.first_step == -1) return w.begin_ticks != 0;
  for (const StepInfo& s : meta.steps)
    if (s.number == w.first_step && !(s.flags & (kStepTentative | kStepWithdrawn))) return true;
  return false;
}

// The times that the windows of a program cover. `over`: it has ended. The end of an open window may still move.
std::vector<Cover> covers_of(const Meta& meta, bool over) {
  constexpr u64 kOpen = ~u64(0);
  std::vector<Cover> out;
  for (const WindowInfo& w : meta.windows) {
    u64 end = w.end_ticks ? w.end_ticks : kOpen;
    bool open = !over && (w.state == WindowState::warmup || w.state == WindowState::active);
    if (w.state == WindowState::discarded || (over && w.state == WindowState::warmup)) continue;
    if (open && !has_begun(w, meta)) {
      out.push_back({w.warmup_ticks ? w.warmup_ticks : w.begin_ticks, kOpen, Covered::perhaps});
    } else if (w.begin_ticks) {
      out.push_back({w.begin_ticks, end, Covered::yes});
      if (open) out.push_back({end, kOpen, Covered::perhaps});
    }
  }
  return out;
}

// A helper's recording.
struct Reading {
  HelperLife life;
  Covered covered = Covered::no;
};

Reading read_worker(Recording& recording, const std::vector<Cover>& covers) {
  Reading out;
  Meta meta = recording.read_meta();
  ClockMap clock = clock_of(recording, meta);
  if (!meta.clocks.empty()) {
    out.life.first_ticks = meta.clocks.front().ticks;
    out.life.last_ticks = meta.clocks.back().ticks;
  }
  recording.for_each_data(0, ~0u, [&](const RecordView& view) {
    u64 ticks = stamp_of(view, clock);
    if (!ticks) return;
    u64 begin = view.kind() == Kind::loader ? view.as<LoaderRecord>().begin_ticks : ticks;
    out.life.events++;
    out.life.last_ticks = std::max(out.life.last_ticks, ticks);
    for (auto c = covers.rbegin(); c != covers.rend() && out.covered != Covered::yes; ++c)
      if (ticks >= c->begin && begin < c->end) out.covered = std::max(out.covered, c->covered);
  });
  return out;
}

}  // namespace

Workers::Workers(const Recording& leader)
    : pid_(leader.header().pid), created_ns_(leader.header().created_ns), boot_id_(leader.header().boot_id) {
  const std::string& path = leader.path();
  size_t slash = path.rfind('/');
  directory_ = slash == path.npos ? "." : path.substr(0, slash + 1);
  stem_ = path.substr(0, path.size() - strlen(".tprof"));
  find_slots();
}

Workers::~Workers() {
  for (const Slot& slot : slots_)
    if (slot.fd >= 0) close(slot.fd);
}

std::string Workers::slot_path(size_t number) const { return stem_ + ".worker" + std::to_string(number) + ".tprof"; }

bool Workers::is_ours(const FileHeader& h) const { return is_helper_of(h, pid_, created_ns_, boot_id_); }

// Finds the slots that an earlier finisher of this program has written.
void Workers::find_slots() {
  for (size_t i = 0; access(slot_path(i).c_str(), F_OK) == 0; i++) {
    Slot slot{-1, 0, 0, 0};
    try {
      std::string path = slot_path(i);
      for (u64 begin : recordings_in(path)) {
        auto recording = Recording::open(path, begin);
        const FileHeader& h = recording->header();
        if (!recording->is_folded() || !is_ours(h))
          throw Error(Fault::unreadable, path + ": does not belong to this program");
        slot.begin = begin;
        slot.end = begin + h.folded_bytes;
        folded_.insert({h.pid, h.created_ns});
      }
      slot.fd = open_regular(path, O_RDWR);
    } catch (const Error&) {
    }
    slots_.push_back(slot);
  }
}

// The slot for a helper that started at `first_ticks`: of the slots that were free by then, the one that became free
// last, or else a new one. This makes as many slots as helpers lived at the same time.
Workers::Slot* Workers::slot_for(u64 first_ticks) {
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    struct stat s;
    if (slot.fd < 0 || fstat(slot.fd, &s) != 0 || s.st_nlink == 0) continue;
    if (slot.last_ticks <= first_ticks && (!best || slot.last_ticks > best->last_ticks)) best = &slot;
  }
  while (!best) {
    int fd = open(slot_path(slots_.size()).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateMode);
    if (fd < 0 && errno != EEXIST) return nullptr;
    slots_.push_back({fd, 0, 0, 0});
    if (fd >= 0) best = &slots_.back();
  }
  return best;
}

bool Workers::look_now_and_then() {
  if (clock_ns(CLOCK_MONOTONIC) < next_look_ns_) return false;
  u64 begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  bool found = look();
  u64 took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
  next_look_ns_ = clock_ns(CLOCK_MONOTONIC) + std::max(kLookEvery_ns, took * kShareOfTime);
  return found;
}

bool Workers::look() {
  std::vector<std::pair<u64, std::string>> ended;  // oldest first
  live_ = 0;
  for (const std::string& path : list_files(directory_, is_recording_name)) {
    struct stat s;
    if (strangers_.count(path) || lstat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) continue;
    try {
      auto recording = Recording::open(path);
      if (recording->is_folded() || !is_ours(recording->header()))
        strangers_.insert(path);
      else if (recording->header().closed || !recording->writer_alive())
        ended.push_back({recording->header().created_ns, path});
      else
        live_++;
    } catch (const Error&) {  // perhaps it is being created now
    }
  }
  std::sort(ended.begin(), ended.end());
  ended_.clear();
  for (const auto& [created, path] : ended) ended_.push_back(path);
  return !ended_.empty();
}

void Workers::fold(const Meta& leader, bool over, bool keep) {
  if (no_room_ && !over) return;
  std::vector<Cover> covers = covers_of(leader, over);
  u64 most = max_size_of(leader);
  for (const std::string& path : ended_) try {
      auto recording = Recording::open(path);
      if (!is_ours(recording->header())) continue;  // the helper has become a program of its own
      Reading worker = read_worker(*recording, covers);
      if (worker.covered == Covered::perhaps) break;  // keeps the order: helpers that ended later wait too
      bool wanted = worker.covered == Covered::yes || keep;
      no_room_ = wanted && !put_into_slot(*recording, worker.life, most);
      if (no_room_) break;
      unlink(path.c_str());
    } catch (const Error&) {  // gone, or damaged, which `tprof convert --workers` reports
    }
}

// False if it cannot be written now.
bool Workers::put_into_slot(Recording& recording, const HelperLife& life, u64 most_bytes) {
  const FileHeader& h = recording.header();
  if (folded_.count({h.pid, h.created_ns})) return true;
  Slot* slot = slot_for(life.first_ticks);
  if (!slot) return false;
  u64 end = append_recording(recording, slot->fd, slot->end, slot->end ? most_bytes : ~u64(0));
  if (end) {
    slot->begin = slot->end;
    slot->end = end;
    slot->last_ticks = life.last_ticks;
  } else if (errno == EFBIG) {
    count_over_budget(slot->fd, slot->begin, life.events);
  } else {
    return false;
  }
  return true;
}

size_t count_workers(const std::string& directory, const std::set<std::string>& before) {
  size_t count = 0;
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      count += !before.count(path) && Recording::open(path)->header().role == u32(Role::helper);
    } catch (const Error&) {  // reported already, or by `tprof convert`
    }
  return count;
}

}  // namespace tprof
