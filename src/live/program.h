// One program while it is being recorded: follows its recording and the samples beside it, and says what it does. It
// reads files only: the recording, its companion and /proc/<pid> for memory and processor time.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/options.h"
#include "live/breakdown.h"
#include "live/chunk_follower.h"
#include "live/host_time.h"
#include "live/name_texts.h"
#include "live/process_here.h"
#include "live/recent_sums.h"
#include "live/step_records.h"
#include "live/steps_now.h"
#include "live/thread_nest.h"
#include "live/view.h"

namespace tprof::live {

class Program {
 public:
  // Throws as Recording::open() does.
  Program(const std::string& path, ProcessesHere& processes);

  // Reads what was added. After the program's end, or the file's, nothing changes any more.
  void look();
  // Whether a phase began or ended since the last look: a look now sees what may be gone later.
  bool has_changed();
  ProgramView view(size_t most_operators, size_t most_lines);

  const FileHeader& header() const { return recording_->header(); }
  const std::string& path() const { return recording_->path(); }
  bool is_helper() const { return header().role.load() == u32(Role::helper); }
  bool is_worker() const { return header().loader.loader.load() != 0; }
  bool ended() const { return !why_ended_.empty(); }
  // Whether it runs, as far as is known: of one that is not on this machine its recording tells.
  bool runs() const;
  // Its process on this machine, which may have another number than in the recording; 0: it is not here.
  int pid_here() const { return process_.pid; }
  LoaderView worker() const { return work_.view(header(), time_); }

 private:
  struct Window {
    RecordRef ref = 0;
    i64 number = -1;
    i64 first_step = -1, end_step = -1;
    u64 warmup = 0, begin = 0;  // ticks
  };
  struct State {
    u32 phase = 0, epoch = 0, closed = 0;
    bool operator==(const State&) const = default;
  };
  struct Async {
    u32 name;
    u64 begin;
  };
  void add_meta(const RecordView& view);
  void add_name(const RecordView& view);
  void add_info(const RecordView& view);
  void read_windows();
  bool is_warmup(u64 ticks) const;
  void add_data(const RecordView& view);
  void add_range(const RecordView& view);
  void add_async_end(RecordRef ref, u64 end);
  void add_gpu(Category category, u64 begin_ns, u64 end_ns);
  void add_memory(const MemoryRecord& record);
  void tell(const EndedRange& range);
  void cover(u32 name, u64 begin, u64 end);
  ThreadNest& nest_of(u32 tid);
  u64 end_of(RecordRef ref) const;
  void read_new();
  State state() const;
  void find_losses(i64 whole_epoch);
  void finish_steps(u64 until);
  void look_at_process();
  std::string phase_text() const;

  std::unique_ptr<Recording> recording_;
  ProcessHere process_;
  HostTime time_;
  ChunkFollower chunks_;
  NameTexts names_;
  std::unique_ptr<LineSamples> samples_;
  std::map<std::string, std::string> info_;
  std::set<u32> loading_, communicating_, step_marks_, communication_kernels_;  // name ids
  std::map<u32, ThreadNest> nests_;
  std::map<RecordRef, Async> async_;
  RecentSums<u32> operators_;
  u64 second_ = 0;  // in ticks, as it was known first: the length of the slots of operators_
  Breakdown breakdown_;
  StepRecords steps_;
  StepsNow now_;
  std::deque<Window> windows_;  // the last ones
  LoaderWork work_;
  std::map<u32, MemoryView> memory_;  // by device type << 8 | index
  bool gpu_ = false, gpu_communicates_ = false;
  u64 settled_ = 0;                       // ticks before which everything was read
  State seen_;                            // at the last look
  i64 newest_epoch_ = -1;                 // of which data was seen
  i64 whole_epoch_ = -1;                  // all data of it and of those before was read, or is lost
  u64 whole_since_ = 0;                   // ticks: steps that began before may have lost records
  u64 lost_windows_ = 0, overtaken_ = 0;  // see ProgramView
  bool first_look_ = true;
  std::string why_ended_;
  i64 rss_ = -1;
  double cpu_ = -1;
  u64 cpu_ns_ = 0, cpu_at_ns_ = 0;
};

}  // namespace tprof::live
