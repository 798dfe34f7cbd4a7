#include "collect/recorder/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/writer.h"

namespace tprof {

__thread ThreadSelf t_self __attribute__((tls_model("initial-exec"))) = {};
u64 (*g_framework_thread_id)() = nullptr;

std::atomic<ThreadBlock*> g_thread_blocks{nullptr};

u32 current_tid() { return u32(syscall(SYS_gettid)); }

namespace {

pthread_key_t g_end_key;
bool g_has_key;

sigset_t only_bus() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGBUS);
  return set;
}

void block_bus() {
  sigset_t set = only_bus();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool bus_is_blocked() {
  sigset_t now;
  return pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGBUS);
}

// Whether it was blocked.
bool unblock_bus() {
  sigset_t set = only_bus(), before;
  return pthread_sigmask(SIG_UNBLOCK, &set, &before) == 0 && sigismember(&before, SIGBUS);
}

// Thread-exit destructors of other libraries may still run operators: run after them by coming back a few times.
void thread_ends(void* value) {
#ifdef __SANITIZE_THREAD__
  constexpr int kRounds = 0;  // the sanitizer's own end of the thread must come after ours
#else
  constexpr int kRounds = 3;  // of the PTHREAD_DESTRUCTOR_ITERATIONS (4) that there are
#endif
  if (t_self.end_rounds++ < kRounds && pthread_setspecific(g_end_key, value) == 0) return;
  t_self.dead = 1;
  ThreadBlock* block = t_self.block;
  t_self.block = nullptr;
  if (!block || block != value) return;
  block->left_epoch = block->epoch;
  block->epoch = kNoEpoch;  // the next owner of the block continues the chunk, see recorder.cpp
  block->quick_until = 0;
  block->open_count = block->pushed_count = 0;
  block->in_use.store(0, std::memory_order_release);
}

// Names that the program gave, newest last. An entry is written again only for the same tid.
constexpr u32 kMaxGivenNames = 1024;
constinit struct GivenName {
  std::atomic<u32> tid;
  char name[60];
} g_given[kMaxGivenNames] = {};
std::atomic<u32> g_given_count{0};

ThreadBlock* new_block() {
  ThreadBlock* block = nullptr;
  for (ThreadBlock* b = g_thread_blocks.load(std::memory_order_acquire); b && !block; b = b->next) {
    u32 free = 0;
    if (b->in_use.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) block = b;
  }
  if (!block) {
    void* at = mmap(nullptr, sizeof(ThreadBlock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    block = static_cast<ThreadBlock*>(at);
    block->in_use.store(1, std::memory_order_relaxed);
    block->next = g_thread_blocks.load(std::memory_order_relaxed);
    while (!g_thread_blocks.compare_exchange_weak(block->next, block, std::memory_order_release)) {
    }
  }
  block->tid = current_tid();
  block->busy.store(bus_is_blocked() ? kBlocksBus : 0, std::memory_order_relaxed);
  block->announced = 0;
  block->in_module.store(0, std::memory_order_relaxed);
  block->torch_thread = 0;
  block->epoch = kNoEpoch;
  block->open_count = block->pushed_count = 0;
  block->label_count = 0;
  block->native_known = 0;
  block->call_count = block->calls_beyond = 0;
  if (pthread_setspecific(g_end_key, block) != 0) {
    block->in_use.store(0, std::memory_order_release);
    return nullptr;
  }
  return block;
}

}  // namespace

ThreadBlock* enter_slowly(ThreadBlock* block) {
  if (is_inside(block)) return nullptr;
  block->busy.store(kInside | kBlocksBus, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!unblock_bus()) block->busy.store(kInside, std::memory_order_relaxed);
  return block;
}

void leave_slowly(ThreadBlock* block) {
  block_bus();
  block->busy.store(kBlocksBus, std::memory_order_release);
}

void note_if_bus_is_blocked(ThreadBlock* block) {
  if (unblock_bus()) block->busy.store(kInside | kBlocksBus, std::memory_order_relaxed);
}

void give_thread_name(u32 tid, const char* name) {
  u32 count = g_given_count.load(), at = 0;
  while (at < count && at < kMaxGivenNames && g_given[at].tid.load() != tid) at++;
  if (at == count) at = g_given_count.fetch_add(1);
  if (at >= kMaxGivenNames) return;
  snprintf(g_given[at].name, sizeof g_given[at].name, "%s", name);
  g_given[at].tid.store(tid, std::memory_order_release);
}

const char* given_thread_name(u32 tid) {
  u32 count = g_given_count.load();
  for (u32 i = 0; i < count && i < kMaxGivenNames; i++)
    if (g_given[i].tid.load(std::memory_order_acquire) == tid) return g_given[i].name;
  return nullptr;
}

bool init_threads() {
  if (!g_has_key) g_has_key = pthread_key_create(&g_end_key, thread_ends) == 0;
  return g_has_key;
}

void reset_threads_in_child() {
  t_self = {};
  g_thread_blocks.store(nullptr, std::memory_order_relaxed);  // the parent's mappings are leaked on purpose
  if (g_has_key) pthread_setspecific(g_end_key, nullptr);
}

void learn_thread(ThreadBlock* block) {
  if (g_framework_thread_id) block->torch_thread = g_framework_thread_id();
}

ThreadBlock* first_block() {
  if (t_self.inside || t_self.dead || !g_has_key) return nullptr;
  t_self.inside = 1;
  t_self.block = new_block();
  t_self.inside = 0;
  return t_self.block;
}

}  // namespace tprof
