// A library that uses CUDA on its own, as a Python extension does; built against each major, loaded by load_plugins.
#include "cuda.h"

KERNEL(square, 28, 0, 0, 2, 12000, {8, 4}) {
  int* data = argument<int*>(arguments, 0);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < argument<uint32_t>(arguments, 1); i++) data[i] *= data[i];
}

extern "C" __attribute__((visibility("default"))) int plugin_run(int value) {
  void* data;
  CHECK(cudaMalloc(&data, 4));
  CHECK(cudaMemcpy(data, &value, 4, kHostToDevice));
  LAUNCH(square, (Dim3{1, 1, 1}), (Dim3{32, 1, 1}), 0, nullptr, data, 1u);
  CHECK(cudaMemcpy(&value, data, 4, kDeviceToHost));
  CHECK(cudaFree(data));
  return value;
}

extern "C" __attribute__((visibility("default"))) int plugin_version() {
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version));
  return version;
}
