#include "collect/python/loader.h"

#include <string.h>
#include <time.h>

#include <iterator>

#include "collect/python/function_hook.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

// The arguments of _worker_loop(dataset_kind, dataset, index_queue, data_queue, done_event, auto_collation, collate_fn,
// drop_last, base_seed, init_fn, worker_id, num_workers, ...); the bootstrap script has compared their names.
constexpr size_t kIndexQueue = 2, kDataQueue = 3, kDoneEvent = 4, kCollate = 6, kBaseSeed = 8, kWorkerId = 10,
                 kWorkerCount = 11;
constexpr size_t kLeastArguments = 12, kMaxArguments = 32;

PyWord g_get{"get"}, g_put{"put"}, g_send_bytes{"_send_bytes"}, g_done{"_workers_done_event"}, g_flag{"_flag"},
    g_semlock{"_semlock"}, g_name{"name"}, g_handle{"handle"}, g_seed{"_base_seed"};

// The worker that this process is. Used with the GIL held.
struct Worker {
  u64 loader;  // 0: this process is none
  i32 id;
  u32 workers;
  LoaderPart part;
  u64 since_ticks;
  u64 collate_ticks, cpu_ns;  // of the fetch that is under way; CPU time when it began
  u32 epoch;                  // that was recorded when something was last written
  u32 leaders_last;           // FileHeader::last_epoch of its leader then
};
Worker g_worker;

// When batches were put into the data queue that its feeder thread has not sent yet; 0: what was put is no batch. If
// there are more, their sends are not recorded.
struct Unsent {
  static constexpr u32 kMax = 256;
  u64 put_ticks[kMax];
  u32 put, sent;
  u64 sent_ticks;  // when the last one was sent: the thread takes them up one after the other
};
Unsent g_unsent;

// The DataLoaders of the iterators that were made last, by address. Used with the GIL held.
struct Opened {
  const void *iterator, *loader;
};
Opened g_opened[32];
u32 g_opened_count;

const void* loader_of(const void* iterator) {
  for (u32 i = 1; i <= std::size(g_opened); i++)
    if (const Opened& o = g_opened[(g_opened_count - i) % std::size(g_opened)]; o.iterator == iterator) return o.loader;
  return nullptr;
}

i64 integer(PyObject* number) {
  i64 value = number ? g_py.PyLong_AsLong(number) : -1;
  g_py.PyErr_Clear();
  return value;
}

// A number for an iterator of a DataLoader that its program and its workers agree on: made of a semaphore that they
// share. Where workers are forked it has no name, but the same address in all of them, which later iterators may have
// too: their base seeds differ. 0: not known.
u64 number_of(PyObject* done_event, PyObject* base_seed) {
  PyOwned flag(py_attribute(done_event, g_flag));
  PyOwned lock(py_attribute(flag.get(), g_semlock));
  PyOwned name(py_attribute(lock.get(), g_name));
  const char* text = name && name.get() != g_py.none ? py_text(name.get()) : "";
  u64 hash = 14695981039346656037u;
  for (const char* c = text; *c; c++) hash = (hash ^ u8(*c)) * 1099511628211u;
  if (*text) return hash | 1;
  PyOwned handle(py_attribute(lock.get(), g_handle));
  i64 address = integer(handle.get());
  return address > 0 ? (u64(address) ^ u64(integer(base_seed)) * 0x9e3779b97f4a7c15u) | 1 : 0;
}

void append(ThreadBlock* block, u32 epoch, const LoaderRecord& record) {
  if (!block->announced) learn_thread(block);
  char* at = reserve(block, epoch, sizeof record);
  if (!at) return;
  memcpy(at + sizeof record.head, &record.begin_ticks, sizeof record - sizeof record.head);
  publish(block, at, Kind::loader, record.head.id, sizeof record);
}

// The epoch that is recorded now, once this process has looked at its leader.
u32 followed_epoch(u64 now) {
  g_session.follow(now);
  return recording_epoch();
}

LoaderRecord record_of(LoaderPart part, u64 begin, u64 end) {
  return {{0, 0, u32(part)}, begin, end, g_worker.loader, g_worker.id, g_worker.workers, 0, 0};
}

// Whether a window of the leader began and ended while the worker's part went on. `now`: the epoch that is recorded.
bool has_missed_a_window(u32 now) {
  constexpr u32 kEpochsOfWindow = 2;
  u32 before = g_worker.leaders_last;
  g_worker.leaders_last = g_session.leader_last_epoch();
  return g_worker.leaders_last > before + (now == kNoEpoch ? 0 : kEpochsOfWindow);
}

// The worker's part is over. What ends after the window in which it may have begun belongs to that window.
void part_is_over(u64 end) {
  ThreadBlock* block = enter();
  if (!block) return;
  u32 now = followed_epoch(end), epoch = now != kNoEpoch ? now : g_worker.epoch;
  bool missed = has_missed_a_window(now);
  if (missed) epoch = g_session.make_up_for(g_worker.since_ticks, end);
  g_worker.epoch = now;
  LoaderRecord record = record_of(g_worker.part, g_worker.since_ticks, end);
  if (g_worker.part == LoaderPart::fetch) {
    record.detail = g_worker.collate_ticks;
    record.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - g_worker.cpu_ns;
  }
  if (epoch != kNoEpoch && g_writer.is_open()) append(block, epoch, record);
  leave(block);
}

void batch_is_sent(u64 begin, u64 end) {
  ThreadBlock* block = enter();
  if (!block) return;
  if (u32 epoch = followed_epoch(end); epoch != kNoEpoch) append(block, epoch, record_of(LoaderPart::send, begin, end));
  leave(block);
}

void show_now(LoaderPart before, u64 before_ticks) {
  if (!g_writer.is_open()) return;
  LoaderNow& now = g_writer.header()->loader;
  now.since_ticks.store(0, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  now.loader.store(g_worker.loader, std::memory_order_relaxed);
  now.worker.store(g_worker.id, std::memory_order_relaxed);
  now.workers.store(g_worker.workers, std::memory_order_relaxed);
  now.before_ticks.store(before_ticks, std::memory_order_relaxed);
  now.before.store(u32(before), std::memory_order_relaxed);
  now.part.store(u32(g_worker.part), std::memory_order_relaxed);
  now.since_ticks.store(g_worker.since_ticks, std::memory_order_release);
}

void begin_part(LoaderPart part, u64 now) {
  LoaderPart before = g_worker.part;
  u64 before_ticks = g_worker.since_ticks;
  part_is_over(now);
  g_worker.part = part;
  g_worker.since_ticks = now;
  g_worker.collate_ticks = 0;
  if (part == LoaderPart::fetch) g_worker.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  show_now(before, before_ticks);
}

// What looked like a fetch was none: the loader is over, and the worker has dropped the work.
void work_was_dropped() {
  if (g_worker.part == LoaderPart::fetch) g_worker.part = LoaderPart::wait;
}

// --- what is put before functions of the worker. `original` is the function that each stands before. No exception is
// pending when one is called; if it returns nullptr, one is.

// What get() returns is a tuple where it is work.
PyObject* gets(PyObject* original, PyObject* args, PyObject* keywords) {
  work_was_dropped();
  if (g_worker.part != LoaderPart::wait) begin_part(LoaderPart::wait, now_ticks());
  PyObject* result = g_py.PyObject_Call(original, args, keywords);
  if (result && py_type(result) == py_type(args)) begin_part(LoaderPart::fetch, now_ticks());
  return result;
}

PyObject* puts(PyObject* original, PyObject* args, PyObject* keywords) {
  u64 now = now_ticks();
  bool fetched = g_worker.part == LoaderPart::fetch, batch = fetched && g_worker.collate_ticks;
  if (fetched) begin_part(LoaderPart::wait, now);
  g_unsent.put_ticks[g_unsent.put++ % Unsent::kMax] = batch ? now : 0;
  return g_py.PyObject_Call(original, args, keywords);
}

// On the queue's feeder thread.
PyObject* sends(PyObject* original, PyObject* args, PyObject* keywords) {
  PyObject* result = g_py.PyObject_Call(original, args, keywords);
  u32 index = g_unsent.sent++;
  u64 begin = g_unsent.put - index <= Unsent::kMax ? g_unsent.put_ticks[index % Unsent::kMax] : 0;
  u64 end = now_ticks();
  if (result && begin) batch_is_sent(begin > g_unsent.sent_ticks ? begin : g_unsent.sent_ticks, end);
  g_unsent.sent_ticks = end;
  return result;
}

PyObject* collates(PyObject* original, PyObject* args, PyObject* keywords) {
  u64 begin = now_ticks();
  PyObject* result = g_py.PyObject_Call(original, args, keywords);
  g_worker.collate_ticks += now_ticks() - begin;
  return result;
}

// PyMethodDef, and METH_VARARGS | METH_KEYWORDS. The original function is its self.
using Before = PyObject*(PyObject* original, PyObject* args, PyObject* keywords);
struct Method {
  const char* name;
  Before* function;
  int flags;
  const char* doc;
};
constexpr int kArgsAndKeywords = 3;
Method g_gets{"get", gets, kArgsAndKeywords, nullptr}, g_puts{"put", puts, kArgsAndKeywords, nullptr},
    g_sends{"send_bytes", sends, kArgsAndKeywords, nullptr},
    g_collates{"collate_fn", collates, kArgsAndKeywords, nullptr};

// A function that calls `original`; nullptr: it could not be made.
PyObject* before(Method& method, PyObject* original) {
  PyObject* made = g_py.PyCFunction_NewEx ? g_py.PyCFunction_NewEx(&method, original, nullptr)
                                          : g_py.PyCMethod_New(&method, original, nullptr, nullptr);
  if (!made) g_py.PyErr_Clear();
  return made;
}

bool put_before(Method& method, PyObject* object, PyWord& name) {
  PyOwned original(py_attribute(object, name));
  PyOwned ours(original ? before(method, original.get()) : nullptr);
  bool done = ours && g_py.PyObject_SetAttr(object, name.get(), ours.get()) == 0;
  if (!done) g_py.PyErr_Clear();
  return done;
}

// False: this worker is not recorded.
bool worker_begins(PyObject* const* args) {
  u64 loader = number_of(args[kDoneEvent], args[kBaseSeed]);
  i64 id = integer(args[kWorkerId]), workers = integer(args[kWorkerCount]);
  if (!loader || id < 0 || id > INT32_MAX || workers <= id || workers > INT32_MAX) return false;
  g_unsent = {};
  u64 now = now_ticks();
  g_session.follow(now);
  g_worker = {loader, i32(id), u32(workers), LoaderPart::start, now, 0, 0, kNoEpoch, g_session.leader_last_epoch()};
  // The first one decides: without the end of a wait, nothing that follows has a meaning.
  return put_before(g_gets, args[kIndexQueue], g_get) && put_before(g_puts, args[kDataQueue], g_put);
}

}  // namespace

PyObject* worker_loop_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  size_t given = hooked_count(count);
  if (names || given < kLeastArguments || given > kMaxArguments || !worker_begins(args))
    return g_call_function(function, args, count, names);
  put_before(g_sends, args[kDataQueue], g_send_bytes);
  PyOwned collate(before(g_collates, args[kCollate]));
  PyObject* changed[kMaxArguments];
  memcpy(changed, args, given * sizeof *args);
  if (collate) changed[kCollate] = collate.get();
  PyObject* result = g_call_function(function, changed, given, nullptr);
  work_was_dropped();
  begin_part(LoaderPart::ended, now_ticks());
  return result;
}

void loader_made(PyObject* loader, PyObject* iterator) {
  g_opened[g_opened_count++ % std::size(g_opened)] = {iterator, loader};
}

void loader_drawn(PyObject* iterator, u64 begin_ticks) {
  if (recording_epoch() == kNoEpoch || follows_leader()) return;
  PyOwned done(py_attribute(iterator, g_done));  // an iterator without workers has none
  PyOwned seed(py_attribute(iterator, g_seed));
  u64 loader = done ? number_of(done.get(), seed.get()) : 0;
  u64 end = now_ticks();
  ThreadBlock* block = loader ? enter() : nullptr;
  if (!block) return;
  if (u32 epoch = recording_epoch(); epoch != kNoEpoch)
    append(block, epoch,
           {{0, 0, u32(LoaderPart::draw)},
            begin_ticks,
            end,
            loader,
            -1,
            0,
            reinterpret_cast<u64>(loader_of(iterator)),
            0});
  leave(block);
}

}  // namespace tprof
