// A small client of CUPTI, for the tests of the simulated one: loaded by CUDA_INJECTION64_PATH, it enables every kind
// and prints each record as a line to the file $CUPTI_DUMP. More of the environment:
//   CUPTI_DIRECTORY     where its libcupti is            CUPTI_KINDS         the kinds to enable, by number
//   CUPTI_BUFFER_BYTES  0: gives no buffers at all       CUPTI_FORCE=1       flushes with force at the end
//   CUPTI_SLOW_MS       a buffer asked for by a thread that is not the program's first takes that long
//   CUPTI_SUBSCRIBE=1   subscribes to runtime calls and resources as well, and counts them
//   CUPTI_TICKS=1       its clock counts kTicksPerUs, from 0; how far it came is printed
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "cupti/records.h"

namespace {

using namespace sim;
using namespace sim::cupti;

void* library;
FILE* out;
pid_t process;
std::mutex printing;

template <typename F>
F function(const char* name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

void requested(u8** buffer, size_t* bytes, size_t* max_records) {
  const char* slow = getenv("CUPTI_SLOW_MS");
  if (slow != nullptr && gettid() != getpid()) usleep(1000 * atoi(slow));
  const char* size = getenv("CUPTI_BUFFER_BYTES");
  *bytes = size != nullptr ? strtoull(size, nullptr, 0) : 1 << 20;
  *buffer = *bytes != 0 ? static_cast<u8*>(aligned_alloc(8, *bytes)) : nullptr;
  *max_records = 0;
}

const char* name_of(u32 domain, u32 cbid) {
  static auto get = function<int (*)(u32, u32, const char**)>("cuptiGetCallbackName");
  const char* name = "?";
  get(domain, cbid, &name);
  return name;
}

// Whether a kind stands in a comma-separated list.
bool listed(const std::string& list, u32 kind) {
  return ("," + list + ",").find("," + std::to_string(kind) + ",") != std::string::npos;
}

void print(const u8* at) {
  u32 kind;
  memcpy(&kind, at, 4);
  auto as = [&]<typename T>(const T*) { return reinterpret_cast<const T*>(at); };
#define AS(T) as(static_cast<const T*>(nullptr))
  switch (kind) {
    case kKernel:
    case kConcurrentKernel: {
      auto* k = AS(KernelRecord);
      fprintf(out,
              "kernel %s %lu %lu dev %u ctx %u stream %u corr %u grid %d %d %d block %d %d %d shared %d %d regs %u"
              " graph %u node %lu\n",
              k->name, k->start, k->end, k->device, k->context, k->stream, k->correlation, k->grid[0], k->grid[1],
              k->grid[2], k->block[0], k->block[1], k->block[2], k->static_shared, k->dynamic_shared, k->registers,
              k->graph_node != 0 ? k->graph : 0, k->graph_node);
      break;
    }
    case kMemcpy: {
      auto* m = AS(MemcpyRecord);
      fprintf(out, "memcpy %u %u->%u bytes %lu %lu %lu dev %u stream %u corr %u async %u\n", m->copy_kind, m->from_kind,
              m->to_kind, m->bytes, m->start, m->end, m->device, m->stream, m->correlation, m->flags);
      break;
    }
    case kMemcpy2: {
      auto* m = AS(Memcpy2Record);
      fprintf(out, "memcpy2 %u bytes %lu %lu %lu from %u to %u stream %u corr %u\n", m->copy_kind, m->bytes, m->start,
              m->end, m->from_device, m->to_device, m->stream, m->correlation);
      break;
    }
    case kMemset: {
      auto* m = AS(MemsetRecord);
      fprintf(out, "memset %u value %u bytes %lu %lu %lu stream %u corr %u\n", m->memory_kind, m->value, m->bytes,
              m->start, m->end, m->stream, m->correlation);
      break;
    }
    case kRuntime:
    case kDriver: {
      auto* a = AS(ApiRecord);
      fprintf(out, "%s %s %lu %lu corr %u result %u\n", kind == kRuntime ? "runtime" : "driver",
              name_of(kind == kRuntime ? 2 : 1, a->cbid), a->start, a->end, a->correlation, a->result);
      break;
    }
    case kSync: {
      auto* s = AS(SyncRecord);
      fprintf(out, "sync %u %lu %lu corr %u ctx %u stream %d event %u\n", s->type, s->start, s->end, s->correlation,
              s->context, int(s->stream), s->event);
      break;
    }
    case kEvent: {
      auto* e = AS(CudaEventRecord);
      fprintf(out, "event %u stream %u corr %u\n", e->event, e->stream, e->correlation);
      break;
    }
    case kOverhead: {
      auto* o = AS(OverheadRecord);
      fprintf(out, "overhead %u %lu %lu\n", o->overhead >> 16, o->start, o->end);
      break;
    }
    case kMemory2: {
      auto* m = AS(MemoryRecord);
      fprintf(out, "memory %s kind %u %lx bytes %lu %lu corr %u stream %u async %u pool %lx\n",
              m->operation == 1 ? "alloc" : "free", m->memory_kind, m->address, m->bytes, m->time, m->correlation,
              m->stream, m->async, m->pool_address);
      break;
    }
    case kPool: {
      auto* p = AS(PoolRecord);
      fprintf(out, "pool %u %lx size %lu %lu corr %u\n", p->operation, p->address, p->size, p->time, p->correlation);
      break;
    }
    case kGraph: {
      auto* g = AS(GraphRecord);
      fprintf(out, "graph %u %lu %lu stream %u corr %u\n", g->graph, g->start, g->end, g->stream, g->correlation);
      break;
    }
    case kDevice: {
      auto* d = AS(DeviceRecord);
      fprintf(out, "device %u %s sm_%u%u SMs %u\n", d->id, d->name, d->major, d->minor, d->multiprocessors);
      break;
    }
    case kContext: {
      auto* c = AS(ContextRecord);
      fprintf(out, "context %u device %u null stream %u\n", c->context, c->device, c->null_stream);
      break;
    }
    case kStream: {
      auto* s = AS(StreamRecord);
      fprintf(out, "stream %u ctx %u flag %u\n", s->stream, s->context, s->flag);
      break;
    }
    case kExternal: {
      auto* e = AS(ExternalRecord);
      fprintf(out, "external %u %lu corr %u\n", e->external_kind, e->external, e->correlation);
      break;
    }
    default: fprintf(out, "kind %u\n", kind);
  }
}

void completed(void*, u32, u8* buffer, size_t, size_t valid) {
  static auto next = function<int (*)(u8*, size_t, u8**)>("cuptiActivityGetNextRecord");
  std::lock_guard guard(printing);
  u8* record = nullptr;
  int result, guard_count = 0;
  while ((result = next(buffer, valid, &record)) == 0 && guard_count++ < 1000000) print(record);
  if (result != 12) fprintf(out, "buffer ends with %d\n", result);
  free(buffer);
}

constexpr u64 kTicksPerUs = 2500;

u64 ticks() {
  static u64 first = 0;
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  u64 ns = u64(time.tv_sec) * 1000000000 + u64(time.tv_nsec);
  if (first == 0) first = ns;
  return (ns - first) * kTicksPerUs / 1000;
}

std::atomic<size_t> callbacks, resources;

void called_back(void*, u32 domain, u32, const void*) { (domain == 2 ? callbacks : resources)++; }

void subscribe() {
  void* handle = nullptr;
  int result =
      function<int (*)(void**, void*, void*)>("cuptiSubscribe")(&handle, reinterpret_cast<void*>(called_back), nullptr);
  if (result != 0) {
    fprintf(out, "subscribe: %d\n", result);
    char holder[64] = "";
    struct {
      size_t bytes;
      const char* name;
      char* holder;
      size_t holder_bytes;
    } parameters = {sizeof parameters, "dump", holder, sizeof holder};
    auto newer = function<int (*)(void**, void*, void*, void*)>("cuptiSubscribe_v2");
    if (newer != nullptr && newer(&handle, reinterpret_cast<void*>(called_back), nullptr, &parameters) != 0)
      fprintf(out, "held by %s\n", holder);
    return;
  }
  for (u32 domain : {2, 3}) function<int (*)(u32, void*, u32)>("cuptiEnableDomain")(1, handle, domain);
}

void finish() {
  if (getpid() != process) return;  // a forked child has nothing to say
  size_t dropped = 0;
  if (getenv("CUPTI_FORCE") == nullptr)
    function<int (*)(u32)>("cuptiActivityFlushAll")(0);
  else
    function<int (*)(u32)>("cuptiActivityFlushAll")(1);
  function<int (*)(void*, u32, size_t*)>("cuptiActivityGetNumDroppedRecords")(nullptr, 0, &dropped);
  std::lock_guard guard(printing);
  if (getenv("CUPTI_TICKS") != nullptr) fprintf(out, "ticks %lu\n", ticks());
  if (dropped != 0) fprintf(out, "dropped %zu\n", dropped);
  if (callbacks != 0) fprintf(out, "callbacks %zu\nresources %zu\n", callbacks.load(), resources.load());
  fflush(out);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  out = fopen(getenv("CUPTI_DUMP"), "w");
  process = getpid();
  for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.6",
                             "libcupti.so.11.2", "libcupti.so.11.0"}) {
    library = dlopen((std::string(getenv("CUPTI_DIRECTORY")) + "/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return fprintf(out, "no libcupti\n"), 0;
  u32 version = 0;
  function<int (*)(u32*)>("cuptiGetVersion")(&version);
  fprintf(out, "cupti %u\n", version);
  function<int (*)(void*, void*)>("cuptiActivityRegisterCallbacks")(reinterpret_cast<void*>(requested),
                                                                    reinterpret_cast<void*>(completed));
  if (getenv("CUPTI_TICKS") != nullptr) function<int (*)(u64(*)())>("cuptiActivityRegisterTimestampCallback")(ticks);
  if (getenv("CUPTI_SUBSCRIBE") != nullptr) subscribe();
  auto enable = function<int (*)(u32)>("cuptiActivityEnable");
  const char* wanted = getenv("CUPTI_KINDS");
  for (u32 kind : {kContext, kStream, kDevice, kConcurrentKernel, kMemcpy, kMemcpy2, kMemset, kRuntime, kDriver, kSync,
                   kEvent, kOverhead, kMemory2, kPool, kGraph, kExternal}) {
    if (kind == kGraph && wanted == nullptr) continue;  // hides the nodes
    if (wanted != nullptr && !listed(wanted, kind)) continue;
    if (int result = enable(kind)) fprintf(out, "enable %u: %d\n", kind, result);
  }
  atexit(finish);
  return 1;
}
