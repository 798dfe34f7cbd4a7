// An independent witness of what CUPTI delivers, for the GPU checks. CUDA loads it into any program when
// CUDA_INJECTION64_PATH names it. It switches on what every profiler of kernels, copies and calls needs and
//   WITNESS_OUT unset   throws the records away: the floor, the least that such a profiler costs;
//   WITNESS_OUT=FILE    counts them, and writes the counts as JSON at exit: what tprof's trace is compared with.
// Built by tests/gpu/run against the CUPTI of the machine; no part of tprof.
#include <cupti.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr size_t kBufferBytes = 2 << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME};

struct Count {
  unsigned long number = 0, amount = 0;
  void add(unsigned long more) {
    ++number;
    amount += more;
  }
};

// Never destroyed: CUPTI's thread may come late.
struct Counts {
  std::mutex mutex;
  std::vector<uint8_t*> free;
  std::map<std::string, Count> kernels;
  std::map<int, Count> copies;
  Count sets;
  unsigned long lost = 0, unstamped = 0;
};
Counts& counts() {
  static Counts* all = new Counts;
  return *all;
}
const char* const g_out = std::getenv("WITNESS_OUT");

void count(const CUpti_Activity* record) {
  Counts& all = counts();
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    all.kernels[kernel->name].add(kernel->end - kernel->start);
    all.unstamped += !kernel->start || !kernel->end;
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
    all.copies[copy->copyKind].add(copy->bytes);
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    all.sets.add(reinterpret_cast<const CUpti_ActivityMemset4*>(record)->bytes);
  }
}

void CUPTIAPI requested(uint8_t** buffer, size_t* size, size_t* records) {
  Counts& all = counts();
  std::lock_guard<std::mutex> lock(all.mutex);
  *size = kBufferBytes;
  *records = 0;
  if (all.free.empty()) {
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  } else {
    *buffer = all.free.back();
    all.free.pop_back();
  }
}

void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  Counts& all = counts();
  size_t lost = 0;
  if (g_out) cuptiActivityGetNumDroppedRecords(context, stream, &lost);
  std::lock_guard<std::mutex> lock(all.mutex);
  all.lost += lost;
  CUpti_Activity* record = nullptr;
  while (g_out && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) count(record);
  all.free.push_back(buffer);
}

void write_counts() {
  cuptiActivityFlushAll(1);
  if (!g_out) return;
  Counts& all = counts();
  std::lock_guard<std::mutex> lock(all.mutex);
  FILE* file = std::fopen(g_out, "w");
  if (!file) return;
  const char* comma = "";
  std::fprintf(file, "{\"kernels\": {");
  for (const auto& [name, each] : all.kernels) {  // mangled names need no escaping
    std::fprintf(file, "%s\"%s\": [%lu, %lu]", comma, name.c_str(), each.number, each.amount);
    comma = ", ";
  }
  comma = "";
  std::fprintf(file, "}, \"copies\": {");
  for (const auto& [kind, each] : all.copies) {
    std::fprintf(file, "%s\"%d\": [%lu, %lu]", comma, kind, each.number, each.amount);
    comma = ", ";
  }
  std::fprintf(file, "}, \"sets\": [%lu, %lu], \"lost\": %lu, \"unstamped\": %lu}\n", all.sets.number, all.sets.amount,
               all.lost, all.unstamped);
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS) return 0;
  for (CUpti_ActivityKind kind : kKinds)
    if (cuptiActivityEnable(kind) != CUPTI_SUCCESS) std::fprintf(stderr, "witness: kind %d is not to be had\n", kind);
  std::atexit(write_counts);
  return 1;
}
