#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/file_modes.h"
#include "base/log.h"
#include "base/process.h"
#include "record/empty.h"
#include "record/mapping.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tprof {

constinit Writer g_writer;

namespace {

// Recording stops well before a disk is full, because the program needs the rest more than tprof does.
u64 disk_reserve(const struct statvfs& s) {
  u64 total = u64(s.f_blocks) * s.f_frsize, twentieth = total / 20;
  constexpr u64 kMaxReserve = 256ull << 20;
  return twentieth < kMaxReserve ? twentieth : kMaxReserve;
}

// Repeats a system call that a signal or a timer of the program's interrupts; not for ever, since they may be faster.
template <class Call>
int repeat_if_interrupted(Call call) {
  constexpr int kTries = 100;
  int result = -1;
  for (int i = 0; i < kTries && (result = call()) < 0 && errno == EINTR; i++) sched_yield();
  return result;
}

// Allocates blocks, so that a full disk is an error here and not a SIGBUS at the first access. Some file systems
// support only the slow way. Beyond the limit on the size of files (ulimit -f) the kernel would send SIGXFSZ to the
// program.
int allocate(int fd, u64 offset, u64 bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && offset + bytes > limit.rlim_cur) return EFBIG;
  auto fast = [&] { return fallocate(fd, 0, off_t(offset), off_t(bytes)); };
  if (repeat_if_interrupted(fast) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  auto slow = [&] { return (errno = posix_fallocate(fd, off_t(offset), off_t(bytes))) ? -1 : 0; };
  return repeat_if_interrupted(slow) == 0 ? 0 : errno;
}

constexpr char kGone[] = "the recording was moved, deleted or made unreadable; recording stops here";
constexpr char kCut[] =
    "the recording was truncated or overwritten; recording stops here, and what was not "
    "yet written as a trace may be lost";

// Touches each page ahead of the threads that will fill it, since the first access to a file page is too expensive for
// a hook.
void populate(char* at, size_t bytes) {
  constexpr size_t kStep = 128 << 10;  // small, so that the page-table lock is not held for long
  for (size_t done = 0; done < bytes; done += kStep) {
    if (madvise(at + done, kStep, MADV_POPULATE_WRITE) == 0) continue;
    for (size_t page = 0; page < kStep; page += 4096) const_cast<volatile char*>(at)[done + page] = 0;
  }
}

bool make_directories(const char* path) {
  char part[PATH_MAX];
  if (strlen(path) >= sizeof part) return false;
  strcpy(part, path);
  for (char* slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) return false;
    *slash = '/';
  }
  return true;
}

}  // namespace

void SpinLock::lock() {
  for (int i = 0; taken_.exchange(1, std::memory_order_acquire); i++)
    if (i > 64) sched_yield();
}

bool SpinLock::lock_within(u64 ns) {
  u64 end = clock_ns(CLOCK_MONOTONIC) + ns;
  while (!try_lock()) {
    if (clock_ns(CLOCK_MONOTONIC) >= end) return false;
    sched_yield();
  }
  return true;
}

bool Writer::create(const RecordingSpec& spec) {
  if (strlen(spec.path) >= sizeof path_) return errno = ENAMETOOLONG, false;
  if (!make_directories(spec.path)) return false;
  int fd =
      repeat_if_interrupted([&] { return ::open(spec.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kPrivateMode); });
  if (fd < 0) return false;
  int error = allocate(fd, 0, kHeaderBytes);
  struct stat s;
  if (!error && fstat(fd, &s) != 0) error = errno;
  void* at = error ? MAP_FAILED : map_shared(fd, 0, kHeaderBytes, PROT_READ | PROT_WRITE, &cut_);
  if (!error && at == MAP_FAILED) error = errno;
  ::close(fd);
  if (error) {
    unlink(spec.path);
    errno = error;
    return false;
  }
  strcpy(path_, spec.path);
  device_ = s.st_dev;
  inode_ = s.st_ino;
  end_.store(kHeaderBytes);
  max_bytes_ = spec.max_bytes;
  reports_ = spec.reports;
  flight_ = spec.flight;
  auto* h = static_cast<FileHeader*>(at);
  ProcessIdentity me = process_identity(int(spec.pid));
  h->version_major = kVersionMajor;
  h->version_minor = kVersionMinor;
  h->header_bytes = kHeaderBytes;
  h->chunk_bytes = kChunkBytes;
  h->pid = spec.pid;
  h->process_start = me.start_time;
  memcpy(h->boot_id, me.boot_id, sizeof h->boot_id);
  strncpy(h->host, spec.host, sizeof h->host - 1);
  h->created_ns = spec.created_ns;
  h->base_time_ns = spec.base_time_ns;
  h->clock_kind = u32(g_clock_kind);
  h->parent_pid = spec.parent_pid;
  h->role.store(u32(spec.role));
  memcpy(h->magic, kRecordingMagic, sizeof h->magic);
  header_ = h;
  add_clock(read_clocks());
  return true;
}

ChunkHeader* Writer::take_chunk(Stream stream, u32 epoch, u32 tid) {
  if (!header_) return nullptr;
  stop_if_cut();
  if (is_cut()) return nullptr;
  ChunkHeader* chunk = nullptr;
  for (auto& slot : ready_)
    if (slot.load(std::memory_order_relaxed) && (chunk = slot.exchange(nullptr, std::memory_order_acquire))) break;
  if (!chunk) {
    if (stopped()) return nullptr;
    misses_.fetch_add(1, std::memory_order_relaxed);
    chunk = prepare(false);
    if (!chunk) return nullptr;
  }
  if (stream == Stream::data) {
    data_chunks_.fetch_add(1, std::memory_order_relaxed);
    note_epoch(chunk->index, 1 + epoch);
  }
  chunk->stream = u32(stream);
  chunk->epoch = epoch;
  chunk->tid = tid;
  chunk->first_ticks = now_ticks();
  std::atomic_ref<u32>(chunk->magic).store(kChunkMagic, std::memory_order_release);
  return chunk;
}

void Writer::retire_chunk(ChunkHeader* chunk, bool full) {
  if (full) full_chunks_.fetch_add(1, std::memory_order_relaxed);
  for (auto& slot : retired_) {
    ChunkHeader* empty = nullptr;
    if (!slot.load(std::memory_order_relaxed) && slot.compare_exchange_strong(empty, chunk)) return;
  }
  unmap_shared(chunk, kChunkBytes);
}

void Writer::unmap_retired() {
  for (auto& slot : retired_)
    if (ChunkHeader* chunk = slot.exchange(nullptr, std::memory_order_acquire)) unmap_shared(chunk, kChunkBytes);
}

void Writer::top_up() {
  stop_if_cut();
  unmap_retired();
  u32 misses = misses_.load(std::memory_order_relaxed);
  if (misses != seen_misses_ && want_ready_ < kMaxReady) want_ready_ *= 2;
  seen_misses_ = misses;
  for (u32 i = 0; i < want_ready_ && !stopped(); i++) {
    if (ready_[i].load(std::memory_order_relaxed)) continue;
    ChunkHeader* chunk = prepare(true);
    if (!chunk) return;
    ChunkHeader* empty = nullptr;
    if (!ready_[i].compare_exchange_strong(empty, chunk, std::memory_order_release)) unmap_shared(chunk, kChunkBytes);
  }
}

// `ahead`: its pages are populated, and if there is no room, recording does not stop until a thread needs a chunk.
ChunkHeader* Writer::prepare(bool ahead) {
  if (u64(header_->live_chunks.load(std::memory_order_relaxed)) * kChunkBytes >= max_bytes_) {
    if (!ahead)
      stop(Drop::over_budget,
           "TPROF_MAX_SIZE of unconverted data is reached; recording stops here, what was recorded "
           "is kept (raise TPROF_MAX_SIZE, or record fewer steps with TPROF_SCHEDULE)");
    return nullptr;
  }
  u32 index = take_free();
  bool again = index != kNone;
  if (!again) index = next_chunk_.fetch_add(1, std::memory_order_relaxed);
  header_->live_chunks.fetch_add(1, std::memory_order_relaxed);
  if (ChunkHeader* chunk = map_chunk(index, ahead)) {
    // Counted only now: a program that is killed before leaves no chunk beyond the end of the file.
    u32 count = header_->chunks.load(std::memory_order_relaxed);
    while (count <= index && !header_->chunks.compare_exchange_weak(count, index + 1, std::memory_order_relaxed)) {
    }
    return chunk;
  }
  header_->live_chunks.fetch_sub(1, std::memory_order_relaxed);
  if (again) {
    note_free(index);
    return nullptr;
  }
  u32 next = index + 1;
  next_chunk_.compare_exchange_strong(next, index, std::memory_order_relaxed);
  return nullptr;
}

// The file that create() made. -1: it is gone, or, by errno, this process has no descriptor for it now.
int Writer::open_again(struct stat& s) const {
  int fd =
      repeat_if_interrupted([&] { return ::open(path_, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
  if (fd < 0 || (fstat(fd, &s) == 0 && is_ours(s))) return fd;
  ::close(fd);
  errno = ESTALE;
  return -1;
}

ChunkHeader* Writer::map_chunk(u32 index, bool ahead) {
  u64 offset = kHeaderBytes + u64(index) * kChunkBytes;
  u64 end = end_.load();
  struct stat s;
  struct statvfs fs;
  int fd = open_again(s);
  if (fd < 0) {
    bool for_now = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR;
    if (!for_now) stop(Drop::no_chunk, kGone);
    return nullptr;
  }
  if (u64(s.st_size) < end || !has_header()) cut_.store(true);  // noticed before a page was accessed
  if (is_cut()) {
    ::close(fd);
    stop_if_cut();
    return nullptr;
  }
  bool full = fstatvfs(fd, &fs) == 0 && u64(fs.f_bavail) * fs.f_frsize < kChunkBytes + disk_reserve(fs);
  int error = full ? ENOSPC : allocate(fd, offset, kChunkBytes);
  void* at = error ? MAP_FAILED : map_shared(fd, off_t(offset), kChunkBytes, PROT_READ | PROT_WRITE, &cut_);
  ::close(fd);
  if (error == EINTR) return nullptr;
  bool no_room = error == EFBIG || error == ENOSPC || error == EDQUOT;
  if (no_room && ahead) return nullptr;
  if (error == EFBIG) {
    stop(Drop::disk_full,
         "the limit on the size of files (ulimit -f) is reached; recording stops here, what was "
         "recorded is kept (raise it, or record fewer steps with TPROF_SCHEDULE)");
    return nullptr;
  }
  if (no_room) {
    stop(Drop::disk_full,
         "the log directory's disk is (nearly) full; recording stops here, what was recorded is kept "
         "(set TPROF_LOGDIR to a larger disk)");
    return nullptr;
  }
  if (at == MAP_FAILED) {
    stop(Drop::no_chunk, "records could not be mapped into memory; recording stops here");
    return nullptr;
  }
  while (end < offset + kChunkBytes && !end_.compare_exchange_weak(end, offset + kChunkBytes)) {
  }
  if (ahead) populate(static_cast<char*>(at), kChunkBytes);
  auto* chunk = static_cast<ChunkHeader*>(at);
  chunk->index = index;
  return chunk;
}

void Writer::stop(Drop reason, const char* line) {
  u32 running = 0;
  header_->stopped.compare_exchange_strong(running, 1 + u32(reason));
  if (!stopped_.exchange(true) && reports_) say("%s", line);
}

// Reported here and not where it is noticed, which may be a signal handler.
void Writer::stop_if_cut() {
  if (is_cut()) stop(Drop::no_chunk, kCut);
}

bool Writer::is_ours(const struct stat& s) const { return s.st_dev == device_ && s.st_ino == inode_; }

bool Writer::in_place() const {
  struct stat s;
  return stat(path_, &s) == 0 && is_ours(s);
}

void Writer::stop_if_gone() {
  struct stat s;
  if (stat(path_, &s) != 0 || !is_ours(s))
    stop(Drop::no_chunk, kGone);
  else if (u64(s.st_size) < end_.load() || !has_header())
    cut_.store(true);  // even if a new chunk made the file long again
  stop_if_cut();
}

bool Writer::has_header() const { return memcmp(header_->magic, kRecordingMagic, sizeof header_->magic) == 0; }

void Writer::drop(Drop reason, u64 count) {
  if (header_) header_->dropped[u32(reason)].fetch_add(count, std::memory_order_relaxed);
}

void Writer::close(u32 closed) {
  if (!header_) return;
  add_clock(read_clocks());
  header_->closed.store(closed, std::memory_order_release);
  touch_meta();
}

void Writer::forget() {
  for (u32 i = 0; header_ && i < kMaxTracked && i < header_->chunks.load(); i++) note_epoch(i, kNoData);
  if (header_) reassign_mapping(header_, nullptr);
  header_ = nullptr;
  cut_.store(false);
  stopped_.store(false);
  meta_ = steps_ = {};
  std::fill(std::begin(steps_full_), std::end(steps_full_), nullptr);
  std::fill(std::begin(patched_), std::end(patched_), nullptr);
  next_name_ = 1;
  meta_lock_.reset();
  for (auto& slot : ready_) slot.store(nullptr, std::memory_order_relaxed);
  for (auto& slot : retired_) slot.store(nullptr, std::memory_order_relaxed);
  misses_.store(0);
  data_chunks_.store(0);
  full_chunks_.store(0);
  free_.store(0);
  next_chunk_.store(0);
  want_ready_ = 4;
  seen_misses_ = 0;
}

void Writer::remove() {
  if (header_) remove_empty(path_);
}

}  // namespace tprof
