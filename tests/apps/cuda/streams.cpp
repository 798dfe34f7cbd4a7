// Two streams that overlap, tied by events; the legacy default stream, which waits for both; a non-blocking one, which
// does not; and per-thread default streams.
#include <thread>

#include "cuda.h"

KERNEL(scale_add, 32, 0, 0, 4, 50000, {8, 4, 4, 4}) {
  float* data = argument<float*>(arguments, 0);
  float factor = argument<float>(arguments, 1), offset = argument<float>(arguments, 2);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < argument<uint32_t>(arguments, 3); i++)
    data[i] = data[i] * factor + offset;
}

constexpr uint32_t kCount = 1024;
constexpr Dim3 kGrid = {kCount / 128, 1, 1}, kBlock = {128, 1, 1};

int main() {
  void *a, *b;
  CHECK(cudaMalloc(&a, kCount * 4));
  CHECK(cudaMalloc(&b, kCount * 4));
  Stream first, second, free;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaStreamCreateWithFlags(&free, kNonBlocking));
  Event begin, half, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&half));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaMemset(a, 0, kCount * 4));
  CHECK(cudaMemset(b, 0, kCount * 4));
  CHECK(cudaDeviceSynchronize());

  CHECK(cudaEventRecord(begin, first));
  for (int i = 0; i < 4; i++) {
    LAUNCH(scale_add, kGrid, kBlock, 0, first, a, 2.f, 1.f, kCount);
    LAUNCH(scale_add, kGrid, kBlock, 0, second, b, 3.f, 1.f, kCount);
  }
  CHECK(cudaEventRecord(half, second));
  CHECK(cudaStreamWaitEvent(first, half, 0));
  LAUNCH(scale_add, kGrid, kBlock, 0, first, a, 1.f, 100.f, kCount);
  CHECK(cudaEventRecord(end, first));
  LAUNCH(scale_add, kGrid, kBlock, 0, nullptr, b, 1.f, 1000.f, kCount);
  CHECK(cudaEventSynchronize(end));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));

  float x = 0, y = 0;
  CHECK(cudaMemcpy(&x, a, 4, kDeviceToHost));
  CHECK(cudaMemcpy(&y, b, 4, kDeviceToHost));
  void* c;
  CHECK(cudaMalloc(&c, kCount * 4));
  CHECK(cudaMemsetAsync(c, 0, kCount * 4, free));
  CHECK(cudaStreamSynchronize(free));
  std::thread threads[2];
  for (int i = 0; i < 2; i++) {
    threads[i] = std::thread([=] {
      uint32_t n = kCount / 2;
      float* part = static_cast<float*>(c) + i * n;
      float one = 1, add = float(i + 1);
      void* arguments[] = {&part, &one, &add, &n};
      CHECK(cudaLaunchKernel_ptsz(reinterpret_cast<const void*>(simk_scale_add), kGrid, kBlock, arguments, 0, nullptr));
      CHECK(cudaStreamSynchronize(reinterpret_cast<Stream>(2)));
    });
  }
  for (auto& thread : threads) thread.join();
  float ends[2];
  CHECK(cudaMemcpy(&ends[0], c, 4, kDeviceToHost));
  CHECK(cudaMemcpy(&ends[1], static_cast<char*>(c) + kCount * 2, 4, kDeviceToHost));
  for (Stream stream : {first, second, free}) CHECK(cudaStreamDestroy(stream));
  // Nine kernels of 50 us: one after the other they would take 450.
  printf("streams: %g %g %g %g, overlapped: %s\n", x, y, ends[0], ends[1], ms < 0.44f ? "yes" : "no");
  return x == 115 && y == 1040 && ends[0] == 1 && ends[1] == 2 ? 0 : 1;
}
