// Drives the profiler plugin that NCCL_PROFILER_PLUGIN names as NCCL does: argv[1] version, argv[2] what to do:
//   calls     two communicators, a collective, a send and their transfers
//   hostile   events nobody knows, null pointers, huge counts, handles of nobody, everything twice
//   threads   eight threads with 5,000 operations and transfers each
// Prints the answers; a plugin must always succeed.
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "cuda.h"
#include "nccl/profiler_plugin.h"

using namespace sim_nccl;

namespace {

int g_failed;
ProfilerPlugin g_plugin;

void* init(u64 comm, int* mask, int ranks, int rank) {
  void* context = nullptr;
  g_failed += g_plugin.init(&context, mask, comm, ranks, rank) != 0;
  return context;
}

template <class Fill>
void* start(void* context, u64 type, void* parent, Fill fill) {
  void* handle = nullptr;
  g_failed += g_plugin.start(context, &handle, type, parent, fill) != 0;
  return handle;
}

void* collective(void* context, u64 number, size_t count, const char* func = "AllReduce") {
  return start(context, kColl, nullptr, [&](auto& d) {
    d.coll = {number, func, nullptr, nullptr, count, 0, "ncclFloat32", 2, 16, "RING", "LL128", nullptr};
  });
}

void* transfer(void* context, void* parent, bool sends, pid_t pid = getpid()) {
  return start(context, kProxyOp, parent, [&](auto& d) { d.proxy = {pid, 3, 1, 4, 1 << 16, sends}; });
}

void stop(void* handle) { g_failed += g_plugin.table->stop(handle) != 0; }

void calls() {
  int mask = 0;
  void* first = init(0xabcdef, &mask, 2, 1);
  void* second = init(0x123456, &mask, 4, 3);
  printf("mask %d, contexts %d\n", mask, first && second && first != second);
  void* operation = collective(first, 6, 1000);
  stop(operation);
  void* send = transfer(first, operation, true);
  void* receive = transfer(first, operation, false);
  g_failed += g_plugin.table->state(send, kProxyOpInProgress, nullptr) != 0;
  usleep(20000);
  stop(send);
  stop(receive);
  void* p2p = start(second, kP2p, nullptr, [](auto& d) { d.p2p = {"Send", nullptr, "ncclInt8", 77, 2, 1, nullptr}; });
  stop(p2p);
  printf("handles %d\n", operation && send && receive && p2p && send != receive);
  g_failed += g_plugin.table->finalize(first) + g_plugin.table->finalize(second);
}

void hostile() {
  int mask = 0;
  void* context = init(1, &mask, 2, 0);
  g_failed += g_plugin.init(nullptr, nullptr, 0, 0, 0, nullptr);
  std::vector<void*> contexts;
  for (int i = 0; i < 3000; i++) contexts.push_back(init(u64(i), &mask, -5, -7));
  int unknown = 0;
  for (int bit = 0; bit < 64; bit++)
    if (void* handle = start(context, u64(1) << bit, nullptr, [](auto&) {})) {
      unknown++;
      stop(handle);
    }
  printf("without words %d\n", unknown > 0);
  void* nothing = context;
  g_failed += g_plugin.table->start(context, &nothing, nullptr) != 0;
  printf("no description %d\n", nothing == nullptr);
  g_failed += g_plugin.table->start(context, nullptr, nullptr) + g_plugin.table->start(nullptr, &nothing, nullptr);
  void* operation = collective(context, ~u64(0), ~size_t(0));
  void* odd = collective(context, 1, 5, "AllReduceOfTomorrow");
  void* late = transfer(context, operation, true);
  for (int i = 0; i < 2; i++) stop(operation), stop(odd), stop(late);
  g_failed += g_plugin.table->state(late, kProxyOpInProgress, nullptr) + g_plugin.table->state(operation, -1, nullptr);
  for (u64 value : {u64(0), u64(1), u64(2), u64(3), u64(0xdeadbeef), ~u64(0)}) {
    auto* handle = reinterpret_cast<void*>(value);
    stop(handle);
    g_failed += g_plugin.table->state(handle, kProxyOpInProgress, nullptr) != 0;
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
  for (void* c : contexts) g_failed += g_plugin.table->finalize(c) != 0;
  for (int i = 0; i < 2; i++) g_failed += g_plugin.table->finalize(context) != 0;
  g_failed += g_plugin.table->finalize(nullptr) != 0;
}

void threads() {
  std::vector<std::thread> all;
  for (int t = 0; t < 8; t++)
    all.emplace_back([t] {
      int mask = 0;
      void* context = init(u64(100 + t), &mask, 8, t);
      for (int i = 0; i < 5000; i++) {
        void* operation = collective(context, u64(i), 10);
        void* send = transfer(context, operation, true);
        g_plugin.table->state(send, kProxyOpInProgress, nullptr);
        stop(operation);
        stop(send);
      }
      g_plugin.table->finalize(context);
    });
  for (std::thread& t : all) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* path = getenv("NCCL_PROFILER_PLUGIN");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  bool found = g_plugin.find(library, atoi(argv[1]));
  void* memory;
  CHECK(cudaMalloc(&memory, 64));  // where profiling starts
  CHECK(cudaDeviceSynchronize());
  std::string what = argv[2];
  if (!found)
    printf("no plugin\n");
  else
    what == "calls" ? calls() : what == "hostile" ? hostile() : threads();
  CHECK(cudaFree(memory));
  if (found) dlclose(library);
  printf("%d failed\n", g_failed);
  return g_failed != 0;
}
