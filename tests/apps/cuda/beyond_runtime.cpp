// Calls that do not end in the CUDA runtime: virtual memory by driver functions that it hands out, and NCCL.
#include "cuda.h"

extern "C" {
int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
int ncclGetUniqueId(void*);
struct Id {
  char bytes[128];
};
int ncclCommInitRank(void**, int, Id, int);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, Stream);
int ncclGroupStart();
int ncclGroupEnd();
int ncclCommDestroy(void*);
}

template <class Function>
Function driver(const char* name) {
  void* found = nullptr;
  int status = -1;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, 0, &status));
  return reinterpret_cast<Function>(found);
}

int main() {
  using u64 = unsigned long long;
  CHECK(cudaSetDevice(0));
  void* memory;
  CHECK(cudaMalloc(&memory, 1 << 12));
  struct {
    int type = 1, handles = 0, location = 1, device = 0;
    void* other = nullptr;
    u64 flags = 0;
  } properties;
  auto create = driver<int (*)(u64*, size_t, const void*, u64)>("cuMemCreate");
  auto reserve = driver<int (*)(u64*, size_t, size_t, u64, u64)>("cuMemAddressReserve");
  auto map = driver<int (*)(u64, size_t, size_t, u64, u64)>("cuMemMap");
  auto unmap = driver<int (*)(u64, size_t)>("cuMemUnmap");
  auto release = driver<int (*)(u64)>("cuMemRelease");
  u64 handle = 0, at = 0;
  int failed = 0;
  failed += create(&handle, 2 << 20, &properties, 0) != 0;
  failed += reserve(&at, 2 << 20, 0, 0, 0) != 0;
  failed += map(at, 2 << 20, 0, handle, 0) != 0;
  failed += unmap(at, 2 << 20) != 0;
  failed += release(handle) != 0;
  void* comm = nullptr;
  Id id;
  failed += ncclGetUniqueId(&id) != 0;
  failed += ncclCommInitRank(&comm, 1, id, 0) != 0;
  failed += ncclGroupStart() != 0;
  failed += ncclAllReduce(memory, memory, 1000, 7, 0, comm, nullptr) != 0;
  failed += ncclGroupEnd() != 0;
  failed += ncclCommDestroy(comm) != 0;
  CHECK(cudaFree(memory));
  printf("beyond_runtime: %d failed\n", failed);
  fprintf(stderr, "handle %llu, address %llu\n", handle, at);  // not the same in each run
  return failed;
}
