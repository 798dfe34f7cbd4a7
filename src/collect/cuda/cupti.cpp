#include "collect/cuda/cupti.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "collect/cuda/api_names.h"
#include "collect/cuda/cupti_errors.h"
#include "collect/cuda/devices.h"
#include "collect/cuda/gpu_log.h"
#include "collect/cuda/mux.h"
#include "collect/recorder/thread.h"
#include "collect/session/bus_guard.h"
#include "collect/session/collector.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

enum class State : u32 { off, switching, on, unavailable };
std::atomic<State> g_state{State::off};
std::atomic<bool> g_forked{false};     // forked from a process that used CUPTI, which is then never called again
std::atomic<bool> g_seen{false};       // this process uses CUDA
std::atomic<bool> g_wanted{false};     // warming up or active
std::atomic<bool> g_no_driver{false};  // the first attempt found none, and no function of CUPTI was called
std::atomic<bool> g_kinds_on{false};   // our kinds of records are enabled; written under MuxSwitching
CuptiLibrary g_library;
BufferPool g_buffers;

// --- the thread
SpinLock g_thread_lock;
std::atomic<u32> g_running{0};
std::atomic<u32> g_wakes{0};
std::atomic<bool> g_exiting{false};
std::atomic<u32> g_flushes{0};  // completed
std::atomic<bool> g_flush_asked{false};

void pause_ns(long ns) {
  timespec t{0, ns};
  nanosleep(&t, nullptr);
}

// Blocks all signals, also for the threads that CUPTI creates, which inherit the mask: signals belong to the program.
// Except SIGBUS, which writing to a recording may raise (see collect/session/bus_guard.h).
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
    inside_ = t_self.inside;
    t_self.inside = 1;  // nothing that happens in here is an event
  }
  ~NoSignals() {
    t_self.inside = inside_;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
  u8 inside_;
};

void request_buffer(u8** buffer, size_t* bytes, size_t* max_records) {
  *buffer = g_buffers.take(bytes, clock_ns(CLOCK_MONOTONIC));
  *max_records = 0;
}

void complete_buffer(void*, u32, u8* buffer, size_t, size_t valid) {
  if (g_forked.load(std::memory_order_relaxed)) return;
  u8 inside = t_self.inside;
  t_self.inside = 1;
  bool scrap = g_buffers.is_scrap(buffer);
  if (g_library.path[0]) gpu_log_buffer(g_library, buffer, valid, scrap);
  t_self.inside = inside;
  if (const CuptiLibrary* shared = scrap ? nullptr : mux_library()) mux_tee(*shared, buffer, valid);
  g_buffers.give_back(buffer);
}

// ---------------------------------------------------------------- on and off

bool wants_graphs() { return !strcmp(g_session.options().graph.value, "graph"); }

void for_each_kind(int (*use)(u32 kind)) {
#define RECORD(name, number, kind) \
  if (number != cupti::k_graph || wants_graphs()) use(number);
#define FIELD(record, name, at, type, member)
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD
}

// Enables all kinds. Returns CUPTI's result for concurrent kernels, which decides; other kinds may fail.
int enable_kinds() {
  const CuptiApi& api = g_library.api;
  MuxSwitching switching;
  if (int rc = cupti_register(g_library)) return rc;
  if (int rc = api.cuptiActivityEnable(cupti::k_kernel)) return rc;
  if (api.cuptiSetThreadIdType) api.cuptiSetThreadIdType(cupti::kSystemThreadIds);
  for_each_kind([](u32 kind) {
    const CuptiApi& api = g_library.api;
    bool exists_already = kind == cupti::k_device || kind == cupti::k_context;
    if (kind == cupti::k_driver && api.cuptiActivityEnableDriverApi) return 0;
    if (exists_already && api.cuptiActivityEnableAndDump) return api.cuptiActivityEnableAndDump(kind);
    return kind == cupti::k_kernel ? 0 : api.cuptiActivityEnable(kind);
  });
  g_kinds_on.store(true);
  cupti_choose_calls(g_library);
  if (api.cuptiActivityEnableAllSyncRecords) api.cuptiActivityEnableAllSyncRecords(0);
  return 0;
}

void disable_kinds() {
  MuxSwitching switching;
  g_kinds_on.store(false);
  for_each_kind([](u32 kind) { return mux_client_has(kind) ? 0 : g_library.api.cuptiActivityDisable(kind); });
  if (g_library.api.cuptiActivityEnableDriverApi && !mux_client_has(cupti::k_driver))
    for (u32 i = 0; i < kDriverCallCount; i++) g_library.api.cuptiActivityEnableDriverApi(kDriverCalls[i], 0);
}

// Finds a libcupti and tries it, then older ones if it is too new for the driver. On failure fills `why`.
bool load_and_enable(char* why, size_t size) {
  if (!strstr(g_session.options().activities.value, "cuda")) {
    snprintf(why, size, "switched off by TPROF_ACTIVITIES");
    return false;
  }
  g_no_driver.store(!cuda_driver_found());
  if (g_no_driver.load()) {
    snprintf(why, size, "there is no CUDA driver here");
    return false;
  }
  const char* chosen = g_session.options().cupti.value;
  bool found = find_cupti(g_library, chosen, 0);
  if (!found) {
    snprintf(why, size, "%s; TPROF_CUPTI can name one", g_library.why);
    return false;
  }
  if (!g_library.sizes.of(cupti::k_kernel)) {
    snprintf(why, size, "the records of %.250s cannot be read", g_library.path);
    return false;
  }
  g_buffers.prepare();
  int rc = enable_kinds();
  while (rc == cupti::kNotInitialized && !*chosen) {
    static CuptiLibrary older;
    if (!find_cupti(older, chosen, g_library.major())) break;
    g_library = older;
    rc = enable_kinds();
  }
  if (rc) cupti_explain(g_library, rc, why, size);
  return rc == 0;
}

// The first attempt of the process. If it fails, there is no other, unless it found no driver.
bool first_switch_on() {
  char why[400] = "";
  bool ok = load_and_enable(why, sizeof why);
  g_writer.add_capability("cuda", ok, why);
  if (g_library.path[0]) {
    char text[640];
    snprintf(text, sizeof text, "%s, version %u", g_library.path, g_library.version);
    g_writer.add_info("cupti", text);
  }
  if (!ok && g_session.speaks() && strstr(g_session.options().activities.value, "cuda"))
    say("the trace will contain no GPU activity: %s", why);
  return ok;
}

// Between two windows another profiler may have taken CUPTI.
bool switch_on_again() {
  int rc = enable_kinds();
  if (rc == cupti::kSuccess) return true;
  char why[512];
  cupti_explain(g_library, rc, why, sizeof why);
  g_session.capability("cuda", false, why);
  if (g_session.speaks()) say("from now on traces will contain no GPU activity: %s", why);
  return false;
}

// One second at most: the thread that switches may wait for the loader's lock, which this one may hold.
template <class Condition>
void wait_while(Condition holds) {
  u64 end = clock_ns(CLOCK_MONOTONIC) + 1'000'000'000;
  while (holds() && clock_ns(CLOCK_MONOTONIC) < end) pause_ns(100'000);
}

// Returns when records are on or unavailable. If another thread is switching, waits for it.
void switch_on() {
  static bool tried;
  wait_while([] { return g_state.load() == State::switching; });
  State was = State::off;
  if (!g_state.compare_exchange_strong(was, State::switching)) return;
  NoSignals quiet;
  bool ok = tried ? switch_on_again() : first_switch_on();
  tried = !g_no_driver.load();
  g_state.store(ok ? State::on : State::unavailable, std::memory_order_release);
}

void switch_off() {
  State was = State::on;
  if (!g_state.compare_exchange_strong(was, State::switching)) return;
  if (g_wanted.load()) {  // again, and by now somebody may rely on it being on
    g_state.store(State::on);
    return;
  }
  disable_kinds();
  mux_flush_all(g_library, 0);
  g_state.store(State::off, std::memory_order_release);
}

// ---------------------------------------------------------------- the thread

void flush() {
  u64 began = clock_ns(CLOCK_MONOTONIC);
  // A forced flush delivers unfinished work, whose ends are then lost: only when nothing more is waited for.
  bool last = g_exiting.load() && gpu_log_overdue() && !gpu_log_context_dead();
  mux_flush_all(g_library, last ? cupti::kFlushForced : 0);
  size_t dropped = 0;
  if (g_library.api.cuptiActivityGetNumDroppedRecords &&
      g_library.api.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == 0 && dropped)
    gpu_log_dropped(dropped), mux_dropped(dropped);
  devices_complete();
  gpu_log_settle(g_buffers, began);
  gpu_log_note_oddities();
  g_flushes.fetch_add(1, std::memory_order_release);
}

void sleep_until_woken(u32 seen, long ns) {
  timespec timeout{0, ns};
  syscall(SYS_futex, reinterpret_cast<u32*>(&g_wakes), FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}

void* run(void*) {
  constexpr u64 kFlushEvery_ns = 1'000'000'000;
  constexpr long kPause_ns = 200'000'000, kShortPause_ns = 10'000'000;
  t_self.inside = 1;
  bus_guard_own_thread();
  prctl(PR_SET_NAME, "tprof-cuda");
  u64 last = clock_ns(CLOCK_MONOTONIC);
  for (;;) {
    u32 seen = g_wakes.load(std::memory_order_acquire);
    if (g_wanted.load() && g_state.load() == State::off) switch_on();
    if (g_state.load(std::memory_order_acquire) == State::unavailable) break;
    bool waits = gpu_log_waits();
    u64 now = clock_ns(CLOCK_MONOTONIC);
    if (g_state.load() == State::on && (waits || g_flush_asked.exchange(false) || now - last >= kFlushEvery_ns)) {
      flush();
      last = now;
    }
    if (!g_wanted.load() && !gpu_log_has_windows()) {
      switch_off();
      SpinGuard guard(g_thread_lock);
      if (g_wanted.load()) continue;
      g_running.store(0, std::memory_order_release);
      return nullptr;
    }
    sleep_until_woken(seen, waits || !g_wanted.load() ? kShortPause_ns : kPause_ns);
  }
  g_running.store(0, std::memory_order_release);
  return nullptr;
}

void start_thread() {
  SpinGuard guard(g_thread_lock);
  if (g_running.exchange(1)) return;
  NoSignals quiet;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, nullptr) != 0) g_running.store(0);
  pthread_attr_destroy(&attributes);
}

bool may_switch_on() { return g_seen.load() && g_wanted.load() && g_state.load() != State::unavailable; }

bool is_on() { return g_state.load(std::memory_order_acquire) == State::on; }

void wake() {
  if (!g_running.load()) return;
  g_wakes.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<u32*>(&g_wakes), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// --- For the session, see Collector

// The thread switches them on. In active phases records are on when this returns.
void follow(Phase phase) {
  g_wanted.store(records(phase));
  if (may_switch_on()) start_thread();
  wake();
  if (phase == Phase::active) wait_while([] { return may_switch_on() && !is_on() && g_running.load(); });
}

bool has_delivered(const WindowRecord* window) { return !is_on() || gpu_log_delivered(window); }
bool awaits_delivery() { return is_on() && gpu_log_waits(); }

void flush_and_wait() {
  if (!is_on() || !g_running.load()) return;
  u32 done = g_flushes.load();
  g_flush_asked.store(true);
  wake();
  for (int i = 0; i < 500 && g_flushes.load(std::memory_order_acquire) == done; i++) pause_ns(1'000'000);
}

void exiting() {
  g_exiting.store(true);
  wake();
  for (int i = 0; i < 7000 && awaits_delivery() && g_running.load(); i++) pause_ns(1'000'000);
}

// Waits (at most 1 s) until the thread has ended.
void finish() {
  wake();
  for (int i = 0; i < 1000 && g_running.load(std::memory_order_acquire); i++) pause_ns(1'000'000);
}

// In a forked child CUPTI is never called again.
void forget() {
  if (g_state.load() != State::off || g_library.path[0]) {
    g_forked.store(true);
    g_state.store(State::unavailable);
  }
  g_running.store(0);
  g_wanted.store(false);
  g_no_driver.store(false);
  g_thread_lock.reset();
  gpu_log_forget();
}

}  // namespace

const Collector kCuptiCollector{.phase_changed = follow,
                                .window_opened = gpu_log_open,
                                .epoch_changed = gpu_log_change_epoch,
                                .window_ended = wake,
                                .window_closed = gpu_log_close,
                                .has_delivered = has_delivered,
                                .awaits_delivery = awaits_delivery,
                                .flush = flush_and_wait,
                                .exiting = exiting,
                                .finish = finish,
                                .forget = forget};

// Holds nothing that another thread may wait for, and in a constructor or in cuInit only this thread can go on: so it
// switches them on itself. A driver that only the program knows where to find was not there at the first call. It comes
// here in its cuInit.
void cupti_wanted() {
  bool first = !g_seen.exchange(true), again = !first && cuda_driver_mapped() && g_no_driver.exchange(false);
  if (again) g_state.store(State::off);
  if ((!first && !again) || !may_switch_on()) return;
  switch_on();
  if (may_switch_on()) start_thread();
}

bool cupti_seen() { return g_seen.load(); }

int cupti_register(const CuptiLibrary& library) {
  return library.api.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
}

bool cupti_uses(u32 kind) {
  bool ours = false;
#define RECORD(name, number, text) ours |= kind == number && (number != cupti::k_graph || wants_graphs());
#define FIELD(record, name, at, type, member)
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD
  return ours && g_kinds_on.load();
}

void cupti_choose_calls(const CuptiLibrary& library) {
  const CuptiApi& api = library.api;
  bool all_runtime = mux_client_has(cupti::k_runtime), all_driver = mux_client_has(cupti::k_driver);
  if (api.cuptiActivityEnableDriverApi && !all_driver)
    for (u32 i = 0; i < kDriverCallCount; i++) api.cuptiActivityEnableDriverApi(kDriverCalls[i], 1);
  if (api.cuptiActivityEnableRuntimeApi)
    for (u32 i = 0; i < kNoiseCallCount; i++) api.cuptiActivityEnableRuntimeApi(kNoiseCalls[i], all_runtime);
}

bool cupti_used() { return g_library.path[0] != 0; }
bool cupti_collects() { return g_kinds_on.load(); }

}  // namespace tprof
