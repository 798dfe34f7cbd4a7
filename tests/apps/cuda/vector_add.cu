// The same as vector_add.cpp as nvcc compiles it: <<<>>>, a template, launch attributes, a graph. On the simulated GPU
// the kernels compute through the bodies below; on a real one those are never called.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "../../fake/sim_kernel.h"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <typename T>
__global__ void scale(T* data, T factor, int n) {
  extern __shared__ char scratch[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
  if (i < 0) scratch[0] = 1;
}

SIM_KERNEL_ATTRIBUTES(_Z10vector_addPKfS0_Pfi, 16, 0, 0, 4, 20000, {8, 8, 8, 4});
SIM_KERNEL_BODY(_Z10vector_addPKfS0_Pfi, arguments, grid, block, shared) {
  auto a = *static_cast<const float**>(arguments[0]), b = *static_cast<const float**>(arguments[1]);
  auto c = *static_cast<float**>(arguments[2]);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && int(i) < *static_cast<int*>(arguments[3]); i++) c[i] = a[i] + b[i];
}

SIM_KERNEL_ATTRIBUTES(_Z5scaleIfEvPT_S0_i, 12, 0, 0, 3, 10000, {8, 4, 4});
SIM_KERNEL_BODY(_Z5scaleIfEvPT_S0_i, arguments, grid, block, shared) {
  auto data = *static_cast<float**>(arguments[0]);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && int(i) < *static_cast<int*>(arguments[2]); i++)
    data[i] *= *static_cast<float*>(arguments[1]);
}

#define CHECK(call)                                                                              \
  do {                                                                                           \
    cudaError_t status = (call);                                                                 \
    if (status != cudaSuccess) return printf("%s: %d %s\n", #call, status, cudaGetErrorString(status)), 1; \
  } while (0)

int main() {
  const int n = 4096;
  std::vector<float> a(n, 1.f), b(n, 2.f), c(n);
  float *da, *db, *dc;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaMalloc(&da, n * 4));
  CHECK(cudaMalloc(&db, n * 4));
  CHECK(cudaMalloc(&dc, n * 4));
  CHECK(cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaDeviceSynchronize());
  vector_add<<<n / 256, 256, 0, stream>>>(da, db, dc, n);
  CHECK(cudaGetLastError());
  scale<float><<<n / 128, 128, 50000, stream>>>(dc, 2.f, n);
  CHECK(cudaGetLastError());
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n / 256);
  config.blockDim = dim3(256);
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, scale<float>, dc, 2.f, n));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<float><<<n / 128, 128, 0, stream>>>(dc, 0.5f, n);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (float value : c) wrong += value != 6.f;
  printf("vector_add.cu: sm_%d%d, %d wrong\n", properties.major, properties.minor, wrong);
  return wrong != 0;
}
