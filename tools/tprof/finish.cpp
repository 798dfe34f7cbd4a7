// `tprof finish`, the finisher: a process for each recording that writes the traces of finished windows while the
// program runs, and those of the rest when it has ended. It holds flock(LOCK_EX) on the recording. `tprof run` starts
// it too, for recordings whose finisher was killed (--after).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "command.h"
#include "convert/convert.h"
#include "convert/machine.h"
#include "exit_codes.h"
#include "finish/death.h"
#include "finish/finisher_lock.h"
#include "finish/followed.h"
#include "finish/idle_thread.h"
#include "finish/outlive_signals.h"
#include "finish/sampler.h"
#include "finish/survive_cuts.h"
#include "finish/workers.h"
#include "input/facts.h"
#include "model/reclaim.h"
#include "record/companion.h"
#include "record/empty.h"
#include "record/mapping.h"
#include "record/reader.h"
#include "record/regular_file.h"

namespace tprof {
namespace {

constexpr int kPollMs = 50;
constexpr size_t kMappedBytes = 4096;  // FileHeader
// Writing becomes urgent when a window has waited this long, or when the recording is larger than this and than this
// part of TPROF_MAX_SIZE.
constexpr u64 kMaxWait_ns = 10'000'000'000;
constexpr u64 kMinUrgentBytes = 16 << 20, kUrgentPart = 4;
constexpr size_t kWindowsAtOnce = 50;  // after so many windows their space is given back
constexpr int kHelpersEnd_s = 10;      // helpers of a killed program look for it every five seconds
constexpr int kHelpersBirth_s = 1;     // one that was forked as the program died has no recording until its first event

class Finisher {
 public:
  explicit Finisher(const std::string& path) : path_(path) {}
  ~Finisher() {
    if (header_) unmap_shared(header_, kMappedBytes);
    if (pidfd_ >= 0) close(pidfd_);
    if (fd_ >= 0) close(fd_);
  }

  int run() {
    if (!take()) return kExitOk;
    watch();
    start_helpers();
    auto start_idle = [this] {
      return std::make_unique<IdleThread>([this] { while_running(), drop_samples(), fold_workers(); }, kPollMs);
    };
    auto idle = start_idle();
    while (!ended()) {
      if (deleted()) return stop_sampler(), kExitOk;
      machine_->look_now_and_then(u64(header_->phase) << 32 | (is_flight_ ? 0 : header_->epoch.load()));
      if (is_urgent()) {
        idle.reset();
        while_running();
        idle = start_idle();
      }
      pollfd p{pidfd_, POLLIN, 0};
      poll(&p, pidfd_ >= 0 ? 1 : 0, kPollMs);
    }
    idle.reset();
    sampler_.stop();
    killed_ = header_->closed == 0;
    if (killed_) note_signal();
    int code = header_->closed == kClosedEmpty ? kExitOk : at_end();
    stop_sampler();
    return code;
  }

  // Waits for helper processes that outlive the program, and folds their recordings.
  void fold_the_last() {
    flock(fd_, LOCK_UN);
    constexpr int kEnd = kHelpersEnd_s * 1000 / kPollMs, kBirth = kHelpersBirth_s * 1000 / kPollMs;
    for (int turn = 0; folds_ && turn < kEnd && (workers_->some_live() || (killed_ && turn < kBirth)); turn++) {
      usleep(kPollMs * 1000);
      workers_->look();
      workers_->fold(meta_, true, keeps_);
    }
  }

 private:
  // Opens, locks and maps the recording. False if another finisher has it.
  bool take() {
    survive_cuts();
    fd_ = open_regular(path_, O_RDWR);
    // Tries a few times, because has_finisher() holds the lock for an instant.
    int tries = 5;
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0)
      if (--tries == 0)
        return false;
      else
        usleep(10'000);
    if (deleted()) return false;
    recording_ = Recording::open(path_);
    map_header();
    header_->finisher_pid = static_cast<u32>(getpid());
    workers_ = std::make_unique<Workers>(*recording_);
    machine_ = std::make_unique<Machine>(recording_->header().pid);
    state_.machine = machine_.get();
    is_flight_ = recording_->read_meta().is_flight();
    return true;
  }

  void map_header() {
    if (header_) unmap_shared(header_, kMappedBytes);
    header_ = nullptr;
    cut_ = false;
    void* page = map_shared(fd_, 0, kMappedBytes, PROT_READ | PROT_WRITE, &cut_);
    if (page == MAP_FAILED) throw Error(Fault::unreadable, path_ + ": cannot be mapped: " + strerror(errno));
    header_ = static_cast<FileHeader*>(page);
  }

  void watch() {
#ifdef SYS_pidfd_open
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<int>(recording_->header().pid), 0));
#endif
    // Without a pidfd (old kernels) ended() calls writer_alive(). A pid that another process has by now is not watched.
    if (pidfd_ >= 0 && !recording_->writer_alive()) close(pidfd_), pidfd_ = -1;
  }

  // The sampler, and who looks for hangs; the latter ends by itself.
  void start_helpers() {
    if (header_->closed || !recording_->writer_alive()) return;
    Meta meta = recording_->read_meta();
    std::string sample = meta.option("sample");
    if (!sample.empty() && sample != "0") sampler_.start(path_);
    if (meta.option("trigger").find("hang") != std::string::npos) start_beside("watch", path_);
  }

  // Its file stays beside the recording, and goes with it.
  void stop_sampler() {
    sampler_.stop();
    remove_samples(path_);
  }

  bool ended() {
    if (header_->closed) return true;
    if (pidfd_ < 0) return !recording_->writer_alive();
    pollfd p{pidfd_, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
  }

  void note_signal() {
    const FileHeader& h = recording_->header();
    if (int signal = signal_of_death(int(h.pid), h.process_start, pidfd_)) header_->killed_by = u32(signal);
  }

  // Whether the recording was deleted or moved, so that its name belongs to another file or to none.
  bool deleted() {
    struct stat s, named;
    if (fstat(fd_, &s) != 0 || s.st_nlink == 0) return true;
    return stat(path_.c_str(), &named) == 0 ? named.st_dev != s.st_dev || named.st_ino != s.st_ino : errno == ENOENT;
  }

  // On a busy machine the idle thread may get no time. Windows that have waited for long, or that bring the recording
  // near TPROF_MAX_SIZE, are then written at normal priority.
  bool is_urgent() {
    u64 now = clock_ns(CLOCK_MONOTONIC);
    u32 turns = turns_;
    if (header_->unfinished == failed_ || turns != seen_turns_) waits_since_ns_ = now;
    seen_turns_ = turns;
    return now - waits_since_ns_ > kMaxWait_ns || is_large();
  }

  bool is_large() {
    u64 bytes = u64(header_->live_chunks) * kChunkBytes;
    if (header_->unfinished == failed_ || bytes < kMinUrgentBytes) return false;
    if (!max_size_) max_size_ = max_size_now();
    return bytes > max_size_ / kUrgentPart;
  }

  u64 max_size_now() const {
    try {
      return max_size_of(Recording::open(path_)->read_meta());
    } catch (const Error&) {  // the recording was truncated
      return ~u64(0);
    }
  }

  // Writes the windows that were sealed and the flushes that were requested since the last turn.
  void while_running() {
    u32 waiting = header_->unfinished;
    if (waiting == failed_) return;
    sampler_.catch_up();
    try {
      ConvertOptions options = asked_options(recording_->read_meta());
      options.only_sealed = true;
      options.max_windows = kWindowsAtOnce;
      for (bool more = true; more;) {
        ConvertResult result = convert_recording(path_, options, state_);
        damaged_ |= result.damaged;
        wrote_ |= !result.traces.empty();
        // The ring of flight mode needs to know what is written also if all of it is kept.
        if (!options.keep_recording || is_flight_) punch_written(path_, state_);
        more = result.more;
      }
      // The program publishes a window before it counts it, so all windows in `waiting` have been considered.
      header_->unfinished -= waiting;
      failed_ = 0;
    } catch (const Error&) {
      // For example a full disk. The recording still holds everything, and at_end() tries again.
      failed_ = waiting;
    }
    turns_++;
  }

  // Flight mode: the samples of what the program no longer keeps.
  void drop_samples() {
    u32 kept = header_->kept_epoch;
    if (kept == samples_from_) return;
    samples_from_ = kept;
    try {
      punch_samples(path_, kept);
    } catch (const Error&) {  // somebody cut one of the files
    }
  }

  void fold_workers() {
    if (!workers_->look_now_and_then()) return;
    try {
      Meta meta = Recording::open(path_)->read_meta();  // the windows that began since this process did, too
      workers_->fold(meta, false, options_of(meta).keep_recording);
    } catch (const Error&) {  // the recording was removed or cut off, which the loop sees
    }
  }

  int at_end() {
    if (deleted()) return kExitOk;
    machine_->add(machine_->look());
    if (cut_) map_header();  // another program may have restored the content
    u32 waiting = header_->unfinished;
    int code = kExitUnreadable;
    try {
      recording_->refresh();
      meta_ = recording_->read_meta();
      ConvertOptions options = asked_options(meta_);
      options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
      ConvertResult result = convert_recording(path_, options, state_);
      recording_->refresh();
      damaged_ |= result.damaged || recording_->is_cut();
      note_rest(result.rest);
      wrote_ |= !result.traces.empty();
      header_->unfinished -= waiting;  // the program need not wait for the rest
      keeps_ = options.keep_recording;
      workers_->look();
      workers_->fold(meta_, true, keeps_);
      bool all = result.complete && !damaged_;
      bool remove = all && !keeps_;
      // If no window was reached, tprof run reports how far the program came, and then removes the recording.
      bool for_run = remove && !wrote_ && !meta_.steps.empty() && getenv("TPROF_UNDER_RUN");
      if (for_run) unlink(samples_of(path_).c_str());
      if (!remove || for_run)
        header_->closed = for_run ? kClosedEmpty : kClosedFinished;
      else if (wrote_)
        unlink(path_.c_str());
      else
        remove_empty(path_.c_str());
      folds_ = true;
      code = damaged_ ? kExitPartial : kExitOk;
    } catch (const Error&) {
      // The recording stays for `tprof convert`. What is unfinished stays so, by which the program knows.
    }
    header_->finisher_pid = 0;
    return code;
  }

  void note_rest(const Rest& rest) {
    header_->rest_events = rest.events;
    header_->rest_first_step = rest.first_step;
    header_->rest_end_step = rest.end_step;
  }

  // The options of the recording. The command comes from this process's environment, which is that of the program or of
  // tprof run, and never from the file.
  static ConvertOptions asked_options(const Meta& meta) {
    ConvertOptions options = options_of(meta);
    if (const char* command = getenv("TPROF_ON_TRACE_READY")) options.on_trace_ready = command;
    options.on_written = try_to_write_facts;
    return options;
  }

  std::string path_;
  int fd_ = -1, pidfd_ = -1;
  FileHeader* header_ = nullptr;
  std::atomic<bool> cut_{false};  // header_ is no longer a mapping of the file
  std::unique_ptr<Recording> recording_;
  ConvertState state_;
  u64 max_size_ = 0;                                // TPROF_MAX_SIZE, 0: not read yet
  std::atomic<u32> turns_{0};                       // calls of while_running() that had something to do
  std::atomic<u32> failed_{0};                      // windows in header_->unfinished that could not be written so far
  u32 samples_from_ = 0;                            // samples of earlier epochs are punched out
  u32 seen_turns_ = 0;                              // turns_ at the last call of is_urgent()
  u64 waits_since_ns_ = clock_ns(CLOCK_MONOTONIC);  // when the last turn ended, or nothing was waiting
  bool damaged_ = false, wrote_ = false;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Machine> machine_;
  SamplerProcess sampler_;
  Meta meta_;           // as it is after the program's end
  bool keeps_ = false;  // --keep-recording
  bool is_flight_ = false;
  bool killed_ = false;  // the program did not close its recording
  bool folds_ = false;   // only recordings of helpers are left to be folded
};

// Runs in a child process, so that a crash on a damaged recording does not affect the others.
void finish_after(const std::string& path) {
  while (has_finisher(path)) usleep(20'000);
  if (how_closed(path) >= kClosedFinished) return;
  int child = fork();
  if (child == 0) try {
      _exit(Finisher(path).run());
    } catch (const std::exception&) {
      _exit(kExitUnreadable);  // `tprof convert` reports why
    }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
}

}  // namespace

Action declare_finish(Arguments& arguments) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto after = std::make_shared<bool>();
  arguments.operands("RECORDING", "the recording to watch", 1, 0, *paths);
  arguments.toggle("--after", "", "convert the recordings one after the other, each when its own finisher has ended",
                   *after);
  return [paths, after]() -> int {
    outlive_signals();
    if (*after) {
      for (const std::string& path : *paths) finish_after(path);
      return kExitOk;
    }
    Finisher finisher((*paths)[0]);
    int code = finisher.run();
    finisher.fold_the_last();
    return code;
  };
}

}  // namespace tprof
