// Copies and fills of every kind: pageable and pinned, both ways, on the device, planes, managed, between peers where
// there are two devices, of no bytes.
#include <cstring>
#include <vector>

#include "cuda.h"

int main() {
  const size_t n = 1 << 16;
  std::vector<char> pageable(n, 'p'), back(n);
  void *pinned, *device, *other, *managed;
  CHECK(cudaMallocHost(&pinned, n));
  CHECK(cudaMalloc(&device, n));
  CHECK(cudaMalloc(&other, n));
  CHECK(cudaMallocManaged(&managed, n, 1));
  memset(pinned, 'i', n);
  memset(managed, 'm', n);
  int wrong = 0;
  auto check = [&](const void* memory, char wanted, size_t bytes) {
    CHECK(cudaMemcpy(back.data(), memory, bytes, kDefault));
    for (size_t i = 0; i < bytes; i++) wrong += back[i] != wanted;
  };
  CHECK(cudaMemcpy(device, pageable.data(), n, kHostToDevice));
  check(device, 'p', n);
  CHECK(cudaMemcpyAsync(device, pinned, n, kHostToDevice, nullptr));
  CHECK(cudaMemcpyAsync(other, device, n, kDeviceToDevice, nullptr));
  CHECK(cudaDeviceSynchronize());
  check(other, 'i', n);
  CHECK(cudaMemcpy(device, managed, n, kDefault));
  check(device, 'm', n);
  CHECK(cudaMemcpy(pinned, pageable.data(), n, kHostToHost));
  CHECK(cudaMemset(device, 'a', n));
  CHECK(cudaMemset2D(device, 512, 'b', 512, 4));
  check(device, 'b', 2048);
  CHECK(cudaMemcpy2D(other, 256, device, 512, 128, 4, kDeviceToDevice));
  check(other, 'b', 128);
  CHECK(cudaMemcpyAsync(device, pinned, 0, kHostToDevice, nullptr));
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices > 1) {
    void* peer;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&peer, n));
    CHECK(cudaMemcpyPeer(peer, 1, device, 0, 2048));
    check(peer, 'b', 2048);
    CHECK(cudaSetDevice(0));
  }
  printf("copies: %d wrong, %d device%s\n", wrong, devices, devices > 1 ? "s" : "");
  return wrong != 0;
}
