// A program that profiles itself with CUPTI, as libkineto does: a subscriber, buffers, kinds, a clock of its own.
// Prints what it got (client [steps]), which must not depend on who else is looking.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda.h"
#include "tprof/tprof.h"

extern "C" {
int cuptiActivityRegisterCallbacks(void (*)(uint8_t**, size_t*, size_t*),
                                   void (*)(void*, uint32_t, uint8_t*, size_t, size_t));
int cuptiActivityRegisterTimestampCallback(uint64_t (*)());
int cuptiActivityEnable(uint32_t);
int cuptiActivityDisable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
int cuptiActivityGetNextRecord(uint8_t*, size_t, uint8_t**);
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t*);
int cuptiSubscribe(void**, void (*)(void*, uint32_t, uint32_t, const void*), void*);
int cuptiUnsubscribe(void*);
int cuptiEnableCallback(uint32_t, void*, uint32_t, uint32_t);
int cuptiFinalize();
}

KERNEL(work, 24, 0, 0, 4, 20000, {8}) { (void)arguments, (void)grid, (void)block, (void)shared; }

namespace {

constexpr uint64_t kOffset = 1'000'000'000'000;  // this program's clock is that much ahead
std::map<uint32_t, int> records;
std::vector<uint64_t> kernel_begins;
std::set<void*> lent;  // buffers that CUPTI holds
std::mutex lending;
std::atomic<int> callbacks{0};

uint64_t real_ns() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

void request(uint8_t** buffer, size_t* bytes, size_t* most) {
  *bytes = 4096;
  *most = 0;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *bytes));
  std::lock_guard guard(lending);
  lent.insert(*buffer);
}

void complete(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard guard(lending);
  uint8_t* record = nullptr;
  while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
    uint32_t kind;
    memcpy(&kind, record, 4);
    records[kind]++;
    uint64_t begin;
    memcpy(&begin, record + 16, 8);
    if (kind == 10) kernel_begins.push_back(begin);
  }
  if (lent.erase(buffer) != 1) printf("an unknown buffer came\n");
  free(buffer);
}

// As libkineto fetches: it takes having lent no buffer for there being nothing to fetch.
void fetch() {
  lending.lock();
  bool any = !lent.empty();
  lending.unlock();
  if (any) CHECK(cuptiActivityFlushAll(1));
}

void launch(int count) {
  for (int i = 0; i < count; i++) LAUNCH(work, (Dim3{1, 1, 1}), (Dim3{64, 1, 1}), 0, nullptr, nullptr);
  CHECK(cudaDeviceSynchronize());
}

}  // namespace

int main(int argc, char**) {
  void* subscriber;
  CHECK(cuptiSubscribe(
      &subscriber, [](void*, uint32_t, uint32_t, const void*) { callbacks++; }, nullptr));
  CHECK(cuptiEnableCallback(1, subscriber, 2, 211));  // cudaLaunchKernel
  launch(50);                                         // not asked for yet
  for (int round = 0; round < 2; round++) {
    CHECK(cuptiActivityRegisterCallbacks(request, complete));
    CHECK(cuptiActivityRegisterTimestampCallback([] { return real_ns() + kOffset; }));
    CHECK(cuptiActivityEnable(5));
    CHECK(cuptiActivityEnable(10));
    uint64_t begin = real_ns() + kOffset;
    for (int i = 0; i < 10; i++) {
      launch(10);
      if (argc > 1) tprof_step();  // tprof's windows open and close meanwhile
    }
    int device;
    for (int i = 0; i < 7; i++) CHECK(cudaGetDevice(&device));
    uint64_t end = real_ns() + kOffset;
    CHECK(cuptiActivityDisable(5));
    CHECK(cuptiActivityDisable(10));
    launch(30);  // is nobody's but tprof's
    fetch();
    size_t dropped = 0, inside = 0;
    CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
    for (uint64_t at : kernel_begins) inside += at >= begin && at <= end;
    printf("round %d: dropped %zu, kernels within %zu of %zu\n", round, dropped, inside, kernel_begins.size());
    for (auto [kind, count] : records) printf("  kind %u: %d\n", kind, count);
    records.clear();
    kernel_begins.clear();
  }
  CHECK(cuptiUnsubscribe(subscriber));
  CHECK(cuptiFinalize());
  launch(20);
  printf("callbacks %d\n", callbacks.load());
  return 0;
}
