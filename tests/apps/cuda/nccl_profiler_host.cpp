// Drives the profiler plugin that NCCL_PROFILER_PLUGIN names as NCCL does: argv[1] version, argv[2] what to do:
//   calls     two communicators, a collective, a send and their transfers
//   hostile   events nobody knows, null pointers, huge counts, handles of nobody, everything twice
//   threads   eight threads with 5,000 operations and transfers each
// Prints the answers; a plugin must always succeed.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda.h"

namespace {

// As in NCCL's headers: plugin/profiler/profiler_v4.h to v6.
struct Coll {
  uint64_t number;
  const char* func;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels, warps;
  const char *algo, *proto;
  void* group;
};
struct P2p {
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
  void* group;
};
struct ProxyOp {
  pid_t pid;
  uint8_t channel;
  int peer, steps, chunk, is_send;
};
template <class Type>
struct Descr {
  Type type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy;
    char room[256];
  };
};

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);
void log(int, unsigned long, const char*, int, const char*, ...) {}
struct Table {
  const char* name;
  void* init;
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};

int g_version, g_failed;
const Table* g_table;

void* init(uint64_t comm, int* mask, int ranks, int rank) {
  void* context = nullptr;
  using V4 = int (*)(void**, int*, const char*, uint64_t, int, int, int, Log);
  using V5 = int (*)(void**, uint64_t, int*, const char*, int, int, int, Log);
  g_failed += g_version < 5
                  ? reinterpret_cast<V4>(g_table->init)(&context, mask, nullptr, comm, 1, ranks, rank, log) != 0
                  : reinterpret_cast<V5>(g_table->init)(&context, comm, mask, nullptr, 1, ranks, rank, log) != 0;
  return context;
}

template <class Fill>
void* start(void* context, uint64_t type, void* parent, Fill fill) {
  void* handle = nullptr;
  auto with = [&](auto descr) {
    memset(&descr, 0, sizeof descr);
    descr.type = static_cast<decltype(descr.type)>(type);
    descr.parent = parent;
    fill(descr);
    g_failed += g_table->start(context, &handle, &descr) != 0;
  };
  g_version < 5 ? with(Descr<uint8_t>()) : with(Descr<uint64_t>());
  return handle;
}

void* collective(void* context, uint64_t number, size_t count, const char* func = "AllReduce") {
  return start(context, 2, nullptr, [&](auto& d) {
    d.coll = {number, func, nullptr, nullptr, count, 0, "ncclFloat32", 2, 16, "RING", "LL128", nullptr};
  });
}

void* transfer(void* context, void* parent, bool sends, pid_t pid = getpid()) {
  return start(context, 8, parent, [&](auto& d) { d.proxy = {pid, 3, 1, 4, 1 << 16, sends}; });
}

void stop(void* handle) { g_failed += g_table->stop(handle) != 0; }

void calls() {
  int mask = 0;
  void* first = init(0xabcdef, &mask, 2, 1);
  void* second = init(0x123456, &mask, 4, 3);
  printf("mask %d, contexts %d\n", mask, first && second && first != second);
  void* operation = collective(first, 6, 1000);
  stop(operation);
  void* send = transfer(first, operation, true);
  void* receive = transfer(first, operation, false);
  g_failed += g_table->state(send, 19, nullptr) != 0;
  usleep(20000);
  stop(send);
  stop(receive);
  void* p2p = start(second, 4, nullptr, [](auto& d) { d.p2p = {"Send", nullptr, "ncclInt8", 77, 2, 1, nullptr}; });
  stop(p2p);
  printf("handles %d\n", operation && send && receive && p2p && send != receive);
  g_failed += g_table->finalize(first) + g_table->finalize(second);
}

void hostile() {
  int mask = 0;
  void* context = init(1, &mask, 2, 0);
  using V4 = int (*)(void**, int*, const char*, uint64_t, int, int, int, Log);
  using V5 = int (*)(void**, uint64_t, int*, const char*, int, int, int, Log);
  g_failed += g_version < 5 ? reinterpret_cast<V4>(g_table->init)(nullptr, nullptr, nullptr, 0, 0, 0, 0, nullptr)
                            : reinterpret_cast<V5>(g_table->init)(nullptr, 0, nullptr, nullptr, 0, 0, 0, nullptr);
  std::vector<void*> contexts;
  for (int i = 0; i < 3000; i++) contexts.push_back(init(uint64_t(i), &mask, -5, -7));
  int unknown = 0;
  for (int bit = 0; bit < 64; bit++)
    if (void* handle = start(context, uint64_t(1) << bit, nullptr, [](auto&) {})) {
      unknown++;
      stop(handle);
    }
  printf("without words %d\n", unknown > 0);
  void* nothing = context;
  g_failed += g_table->start(context, &nothing, nullptr) != 0;
  printf("no description %d\n", nothing == nullptr);
  g_failed += g_table->start(context, nullptr, nullptr) + g_table->start(nullptr, &nothing, nullptr);
  void* operation = collective(context, ~uint64_t(0), ~size_t(0));
  void* odd = collective(context, 1, 5, "AllReduceOfTomorrow");
  void* late = transfer(context, operation, true);
  for (int i = 0; i < 2; i++) stop(operation), stop(odd), stop(late);
  g_failed += g_table->state(late, 19, nullptr) + g_table->state(operation, -1, nullptr);
  for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3), uint64_t(0xdeadbeef), ~uint64_t(0)}) {
    auto* handle = reinterpret_cast<void*>(value);
    stop(handle);
    g_failed += g_table->state(handle, 19, nullptr) != 0;
    printf("parent of nobody %d\n", transfer(context, handle, true, 1) == nullptr);
  }
  int open = 0;
  std::vector<void*> kept;
  for (int i = 0; i < 10000; i++) {
    kept.push_back(transfer(context, operation, false));
    open += kept.back() != nullptr;
  }
  printf("open transfers are limited %d\n", open > 1000 && open < 10000);
  for (void* handle : kept) stop(handle);
  printf("and free again %d\n", transfer(context, operation, false) != nullptr);
  for (void* c : contexts) g_failed += g_table->finalize(c) != 0;
  for (int i = 0; i < 2; i++) g_failed += g_table->finalize(context) != 0;
  g_failed += g_table->finalize(nullptr) != 0;
}

void threads() {
  std::vector<std::thread> all;
  for (int t = 0; t < 8; t++)
    all.emplace_back([t] {
      int mask = 0;
      void* context = init(uint64_t(100 + t), &mask, 8, t);
      for (int i = 0; i < 5000; i++) {
        void* operation = collective(context, uint64_t(i), 10);
        void* send = transfer(context, operation, true);
        g_table->state(send, 19, nullptr);
        stop(operation);
        stop(send);
      }
      g_table->finalize(context);
    });
  for (std::thread& t : all) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_version = atoi(argv[1]);
  const char* path = getenv("NCCL_PROFILER_PLUGIN");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  g_table =
      library ? static_cast<const Table*>(dlsym(library, ("ncclProfiler_v" + std::string(argv[1])).c_str())) : nullptr;
  void* memory;
  CHECK(cudaMalloc(&memory, 64));  // where profiling starts
  CHECK(cudaDeviceSynchronize());
  std::string what = argv[2];
  if (!g_table)
    printf("no plugin\n");
  else
    what == "calls" ? calls() : what == "hostile" ? hostile() : threads();
  CHECK(cudaFree(memory));
  if (g_table) dlclose(library);
  printf("%d failed\n", g_failed);
  return g_failed != 0;
}
