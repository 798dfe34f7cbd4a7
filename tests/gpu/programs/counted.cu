// A CUDA C++ program that counts itself what it does: kernels, copies, sets, a graph, and the time that CUDA's own
// events give a row of long kernels. Prints that as JSON. Built with nvcc's default, the static runtime.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

namespace {

constexpr int kCount = 1 << 22, kLaunches = 30, kLong = 20, kReplays = 5, kNodes = 3;

void must(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}
#define MUST(call) must(call, #call)

}  // namespace

template <typename T>
__global__ void gputest_scale(T* data, T by, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= by;
}

// About a millisecond of arithmetic that nothing can be left out of.
__global__ void gputest_long(float* data, int rounds) {
  float x = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = x * 0.999f + 0.001f;
  data[threadIdx.x] = x;
}

__global__ void gputest_node(float* data) { data[threadIdx.x] += 1; }

int main() {
  const size_t bytes = kCount * sizeof(float);
  float* host = static_cast<float*>(std::malloc(bytes));
  for (int i = 0; i < kCount; ++i) host[i] = 1;
  float* data = nullptr;
  MUST(cudaMalloc(&data, bytes));
  MUST(cudaMemset(data, 0, bytes));
  MUST(cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice));
  for (int i = 0; i < kLaunches; ++i) gputest_scale<float><<<kCount / 256, 256>>>(data, 1.0f, kCount);
  MUST(cudaGetLastError());

  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  MUST(cudaDeviceSynchronize());
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kNodes; ++i) gputest_node<<<1, 32, 0, stream>>>(data);
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  for (int i = 0; i < kReplays; ++i) MUST(cudaGraphLaunch(executable, stream));
  MUST(cudaStreamSynchronize(stream));

  cudaEvent_t begin, end;
  MUST(cudaEventCreate(&begin));
  MUST(cudaEventCreate(&end));
  gputest_long<<<1, 32>>>(data, 400000);  // the first launch loads its code
  MUST(cudaDeviceSynchronize());
  MUST(cudaEventRecord(begin));
  for (int i = 0; i < kLong; ++i) gputest_long<<<1, 32>>>(data, 400000);
  MUST(cudaEventRecord(end));
  MUST(cudaMemcpy(host, data, bytes, cudaMemcpyDeviceToHost));
  float milliseconds = 0;
  MUST(cudaEventElapsedTime(&milliseconds, begin, end));
  MUST(cudaFree(data));
  std::printf("{\"kernels\": {\"gputest_scale\": %d, \"gputest_node\": %d, \"gputest_long\": %d}, "
              "\"copies\": {\"HtoD\": [1, %zu], \"DtoH\": [1, %zu]}, \"sets\": [1, %zu], "
              "\"timed\": {\"kernel\": \"gputest_long\", \"last\": %d, \"us\": %.1f}}\n",
              kLaunches, kNodes * kReplays, kLong + 1, bytes, bytes, bytes, kLong, milliseconds * 1000.0);
  return 0;
}
