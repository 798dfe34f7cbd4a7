// Every family of allocation functions, by 8 threads at once; at the end nothing is left. allocations [ROUNDS]
#include <atomic>
#include <thread>
#include <vector>

#include "cuda.h"

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 20;
  size_t before, after, total;
  CHECK(cudaMemGetInfo(&before, &total));
  std::atomic<uint64_t> calls{0}, bytes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([=, &calls, &bytes] {
      Stream stream;
      Pool pool;
      CHECK(cudaStreamCreate(&stream));
      CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
      for (int i = 0; i < rounds; i++) {
        size_t size = 1024 * size_t(t + 1) + 512 * size_t(i % 5);
        void *plain, *async, *pooled, *managed, *pinned, *host, *pitched;
        size_t pitch;
        CHECK(cudaMalloc(&plain, size));
        CHECK(cudaMallocAsync(&async, size, stream));
        CHECK(cudaMallocFromPoolAsync(&pooled, size, pool, stream));
        CHECK(cudaMallocManaged(&managed, size, 1));
        CHECK(cudaMallocHost(&pinned, size));
        CHECK(cudaHostAlloc(&host, size, 0));
        CHECK(cudaMallocPitch(&pitched, &pitch, 100, 4));
        std::vector<char> own(size);
        CHECK(cudaHostRegister(own.data(), size, 0));
        CHECK(cudaHostUnregister(own.data()));
        CHECK(cudaFree(plain));
        CHECK(cudaFreeAsync(async, stream));
        CHECK(cudaFreeAsync(pooled, stream));
        CHECK(cudaFree(managed));
        CHECK(cudaFreeHost(pinned));
        CHECK(cudaFreeHost(host));
        CHECK(cudaFree(pitched));
        calls += 8;
        bytes += 6 * size + pitch * 4;
      }
      CHECK(cudaStreamDestroy(stream));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(cudaMemGetInfo(&after, &total));
  printf("allocations: %lu allocations, %lu bytes, %ld left\n", calls.load(), bytes.load(), long(before - after));
  return before != after;
}
