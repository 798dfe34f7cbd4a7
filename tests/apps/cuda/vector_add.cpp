// c = a + b on the GPU, several times, checked on the host.  vector_add [TIMES]
#include <vector>

#include "cuda.h"

KERNEL(vector_add, 24, 0, 0, 4, 20000, {8, 8, 8, 4}) {
  auto a = argument<const float*>(arguments, 0), b = argument<const float*>(arguments, 1);
  auto c = argument<float*>(arguments, 2);
  uint32_t n = argument<uint32_t>(arguments, 3);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < n; i++) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  int times = argc > 1 ? atoi(argv[1]) : 3;
  const uint32_t n = 1 << 16;
  std::vector<float> a(n), b(n), c(n);
  for (uint32_t i = 0; i < n; i++) a[i] = float(i), b[i] = float(2 * i);
  void *da, *db, *dc;
  CHECK(cudaMalloc(&da, n * 4));
  CHECK(cudaMalloc(&db, n * 4));
  CHECK(cudaMalloc(&dc, n * 4));
  CHECK(cudaMemcpy(da, a.data(), n * 4, kHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), n * 4, kHostToDevice));
  int wrong = 0;
  for (int i = 0; i < times; i++) {
    CHECK(cudaMemset(dc, 0, n * 4));
    LAUNCH(vector_add, (Dim3{n / 256, 1, 1}), (Dim3{256, 1, 1}), 0, nullptr, da, db, dc, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c.data(), dc, n * 4, kDeviceToHost));
    for (uint32_t k = 0; k < n; k++) wrong += c[k] != float(3 * k);
  }
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  printf("vector_add: %d times %u elements, %d wrong\n", times, n, wrong);
  return wrong != 0;
}
