#include "collect/cuda/mux.h"

#include <pthread.h>
#include <time.h>

#include <atomic>

#include "base/clock.h"
#include "base/elf.h"
#include "collect/cuda/cupti.h"
#include "collect/cuda/gpu_log.h"
#include "record/writer.h"

namespace tprof {
namespace {

constexpr u32 kClientKinds = 256;

struct ClientKind {
  std::atomic<bool> on;
  std::atomic<u64> from_ns, to_ns;  // records that began in between are the client's; `to` 0: still on
};

constinit struct Client {
  std::atomic<cupti::RequestBuffer> request;
  std::atomic<cupti::CompleteBuffer> complete;
  ClientKind kinds[kClientKinds];
  std::atomic<u64> dropped;
  // Its clock, and one early pair of its time and ours, from which times are converted.
  std::atomic<ClientClock> clock;
  u64 clock_early, clock_early_ns;
} g_client = {};

pthread_mutex_t g_switching = PTHREAD_MUTEX_INITIALIZER;
// Recursive: the client may flush in its callback.
constexpr pthread_mutex_t kNobodyFlushes = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t g_flushing = kNobodyFlushes;
SpinLock g_library_lock;
CuptiLibrary g_mapped;
std::atomic<bool> g_mapped_found{false};

// The offsets of times in records; the first of a kind is its start. Kinds that are not listed have no known times.
constexpr struct {
  u16 kind, at;
} kTimes[] = {
    {cupti::k_kernel, 16},
    {cupti::k_kernel, 24},
    {cupti::k_kernel, 32},
    {cupti::k_kernel, 120},
    {cupti::k_kernel, 128},
    {3 /* KERNEL */, 16},
    {3, 24},
    {3, 32},
    {3, 120},
    {3, 128},
    {cupti::k_memcpy, 16},
    {cupti::k_memcpy, 24},
    {cupti::k_memcpy_peer, 16},
    {cupti::k_memcpy_peer, 24},
    {cupti::k_memset, 16},
    {cupti::k_memset, 24},
    {cupti::k_driver, 8},
    {cupti::k_driver, 16},
    {cupti::k_runtime, 8},
    {cupti::k_runtime, 16},
    {cupti::k_sync, 8},
    {cupti::k_sync, 16},
    {cupti::k_overhead, 24},
    {cupti::k_overhead, 32},
    {cupti::k_memory, 32},
    {cupti::k_graph, 8},
    {cupti::k_graph, 16},
    {cupti::k_event, 40},
    {12 /* MARKER */, 8},
    {48 /* INTERNAL_LAUNCH_API */, 8},
    {48, 16},
};

u64 begin_of(const u8* record, u32 kind) {
  for (const auto& time : kTimes)
    if (time.kind == kind && kind != cupti::k_event) {
      u64 begin;
      memcpy(&begin, record + time.at, sizeof begin);
      return begin;
    }
  return 0;
}

bool is_for_client(const u8* record, u32 kind) {
  if (kind >= kClientKinds) return false;
  const ClientKind& k = g_client.kinds[kind];
  u64 from = k.from_ns.load(), to = k.to_ns.load(), begin = begin_of(record, kind);
  if (from == 0) return false;
  if (begin == 0) return k.on.load();
  return begin >= from && (to == 0 || begin < to);
}

// Converts the times of a record to the client's clock. The early pair and now are far enough apart by the time that
// there are records.
void convert_times(u8* record, u32 kind, u32 bytes) {
  ClientClock clock = g_client.clock.load(std::memory_order_acquire);
  if (!clock) return;
  u64 now = clock(), now_ns = clock_ns(CLOCK_REALTIME);
  double span_ns = double(now_ns - g_client.clock_early_ns);
  double rate = span_ns > 0 ? double(now - g_client.clock_early) / span_ns : 1;
  for (const auto& time : kTimes) {
    if (time.kind != kind || time.at + 8u > bytes) continue;
    u64 value;
    memcpy(&value, record + time.at, sizeof value);
    if (!value) continue;
    value = now - u64(i64(double(i64(now_ns - value)) * rate));
    memcpy(record + time.at, &value, sizeof value);
  }
}

// The client's buffer that copies are written to. As CUPTI would, we hold one while the client has kinds enabled:
// libkineto concludes from an absent buffer that there is nothing to fetch. The client's callbacks are called with no
// lock held but that of a flush, which the same thread may take again.
struct Lent {
  u8* at = nullptr;
  size_t bytes = 0, used = 0, most = 0, records = 0;
  bool fits(u32 more) const { return at && used + more <= bytes && (!most || records < most); }
} g_lent;
pthread_mutex_t g_lent_lock = PTHREAD_MUTEX_INITIALIZER;

Lent exchange_lent(const Lent& other) {
  pthread_mutex_lock(&g_lent_lock);
  Lent before = g_lent;
  g_lent = other;
  pthread_mutex_unlock(&g_lent_lock);
  return before;
}

void hand_over(const Lent& buffer) {
  cupti::CompleteBuffer complete = g_client.complete.load();
  if (buffer.at && complete) complete(nullptr, 0, buffer.at, buffer.bytes, buffer.used);
}

void borrow() {
  Lent fresh;
  if (cupti::RequestBuffer request = g_client.request.load()) request(&fresh.at, &fresh.bytes, &fresh.most);
  hand_over(exchange_lent(fresh));
}

bool append(const u8* record, u32 kind, u32 bytes) {
  pthread_mutex_lock(&g_lent_lock);
  bool fits = g_lent.fits(bytes);
  if (fits) {
    memcpy(g_lent.at + g_lent.used, record, bytes);
    convert_times(g_lent.at + g_lent.used, kind, bytes);
    g_lent.used += bytes;
    g_lent.records++;
  }
  pthread_mutex_unlock(&g_lent_lock);
  return fits;
}

void give_client(const u8* record, u32 kind, u32 bytes) {
  if (append(record, kind, bytes)) return;
  borrow();
  if (!append(record, kind, bytes)) g_client.dropped.fetch_add(1);
}

bool client_has_any() {
  for (const ClientKind& kind : g_client.kinds)
    if (kind.on.load()) return true;
  return false;
}

}  // namespace

MuxSwitching::MuxSwitching() { pthread_mutex_lock(&g_switching); }
MuxSwitching::~MuxSwitching() { pthread_mutex_unlock(&g_switching); }

const CuptiLibrary* mux_library() {
  if (g_mapped_found.load(std::memory_order_acquire)) return &g_mapped;
  if (!ElfObject::mapped("libcupti.so").found() || !cuda_driver_found()) return nullptr;
  SpinGuard guard(g_library_lock);
  if (!g_mapped_found.load() && find_mapped_cupti(g_mapped)) g_mapped_found.store(true, std::memory_order_release);
  return g_mapped_found.load() ? &g_mapped : nullptr;
}

int mux_flush_all(const CuptiLibrary& library, u32 flag) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  bool alone = pthread_mutex_timedlock(&g_flushing, &until) == 0;
  int rc = library.api.cuptiActivityFlushAll(flag);
  if (alone) pthread_mutex_unlock(&g_flushing);
  return rc;
}

bool mux_client_has(u32 kind) { return kind < kClientKinds && g_client.kinds[kind].on.load(); }

int mux_register_callbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
  const CuptiLibrary& library = *mux_library();
  if (!request || !complete) return library.api.cuptiActivityRegisterCallbacks(request, complete);
  g_client.request.store(request);
  g_client.complete.store(complete);
  MuxSwitching switching;
  return cupti_register(library);
}

int mux_register_clock(ClientClock clock) {
  g_client.clock.store(nullptr);
  if (clock) {
    g_client.clock_early = clock();
    g_client.clock_early_ns = clock_ns(CLOCK_REALTIME);
  }
  g_client.clock.store(clock, std::memory_order_release);
  return cupti::kSuccess;
}

int mux_enable(u32 kind, int (*real)(u32 kind)) {
  bool first = !client_has_any();
  {
    MuxSwitching switching;
    ClientKind* k = kind < kClientKinds ? &g_client.kinds[kind] : nullptr;
    u64 now = clock_ns(CLOCK_REALTIME);
    int rc = real(kind);
    if (rc != cupti::kSuccess || !k || k->on.load()) return rc;
    k->to_ns.store(0);
    k->from_ns.store(now);
    k->on.store(true);
    if (cupti_collects()) cupti_choose_calls(*mux_library());
  }
  if (first) borrow();
  return cupti::kSuccess;
}

int mux_disable(u32 kind) {
  const CuptiLibrary& library = *mux_library();
  if (mux_client_has(kind)) {
    g_client.kinds[kind].to_ns.store(clock_ns(CLOCK_REALTIME));
    mux_flush_all(library, 0);  // records without times go to the client only while the kind is on
  }
  MuxSwitching switching;
  if (kind < kClientKinds) g_client.kinds[kind].on.store(false);
  bool by_call = kind == cupti::k_driver && library.api.cuptiActivityEnableDriverApi;
  int rc = cupti_uses(kind) && !by_call ? cupti::kSuccess : library.api.cuptiActivityDisable(kind);
  if (cupti_uses(kind)) cupti_choose_calls(library);
  return rc;
}

// Delivers what was copied so far, as CUPTI would.
int mux_flush(u32 flag) {
  int rc = mux_flush_all(*mux_library(), flag);
  hand_over(exchange_lent({}));
  if (client_has_any()) borrow();
  return rc;
}

int mux_count_dropped(void* context, u32 stream, size_t* dropped) {
  const CuptiLibrary& library = *mux_library();
  if (!library.api.cuptiActivityGetNumDroppedRecords) return cupti::kUnknown;
  int rc = library.api.cuptiActivityGetNumDroppedRecords(context, stream, dropped);
  if (rc == cupti::kSuccess && dropped && *dropped && cupti_collects()) gpu_log_dropped(*dropped);
  if (rc == cupti::kSuccess && dropped) *dropped += g_client.dropped.exchange(0);
  return rc;
}

// The real function would end CUPTI for tprof, too.
int mux_finalize(int (*real)()) {
  if (!cupti_used()) return real();
  for (u32 kind = 0; kind < kClientKinds; kind++)
    if (g_client.kinds[kind].on.load()) mux_disable(kind);
  return cupti::kSuccess;
}

void mux_forget() {
  g_switching = PTHREAD_MUTEX_INITIALIZER;
  g_flushing = kNobodyFlushes;
  g_lent_lock = PTHREAD_MUTEX_INITIALIZER;
  g_library_lock.reset();
}

void mux_tee(const CuptiLibrary& library, u8* buffer, size_t valid) {
  if (!g_client.request.load() || !valid) return;
  auto next = library.api.cuptiActivityGetNextRecord;
  u8* record = nullptr;
  if (next(buffer, valid, &record) != cupti::kSuccess) return;
  while (record) {
    u8* after = record;
    bool more = next(buffer, valid, &after) == cupti::kSuccess && after > record && after < buffer + valid;
    u8* end = more ? after : buffer + valid;
    u32 kind = ActivityView{record, u32(end - record)}.kind();
    if (is_for_client(record, kind)) give_client(record, kind, u32(end - record));
    record = more ? after : nullptr;
  }
}

void mux_dropped(u64 count) {
  if (g_client.request.load()) g_client.dropped.fetch_add(count);
}

}  // namespace tprof
