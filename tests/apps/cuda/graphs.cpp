// A graph captured from two streams that fork and join, replayed three times.
#include "cuda.h"

KERNEL(add, 16, 1024, 0, 3, 10000, {8, 4, 4}) {
  int* data = argument<int*>(arguments, 0);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < argument<uint32_t>(arguments, 2); i++)
    data[i] += argument<int>(arguments, 1);
}

KERNEL(sum, 40, 0, 0, 4, 15000, {8, 8, 8, 4}) {
  auto a = argument<const int*>(arguments, 0), b = argument<const int*>(arguments, 1);
  int* c = argument<int*>(arguments, 2);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < argument<uint32_t>(arguments, 3); i++) c[i] = a[i] + b[i];
}

int main() {
  const uint32_t n = 256;
  const Dim3 grid = {2, 1, 1}, block = {128, 1, 1};
  void *a, *b, *c;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMalloc(&c, n * 4));
  CHECK(cudaMemset(a, 0, n * 4));
  CHECK(cudaMemset(b, 0, n * 4));
  Stream main_stream, side;
  CHECK(cudaStreamCreate(&main_stream));
  CHECK(cudaStreamCreate(&side));
  Event fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  Graph graph;
  GraphExec exec;
  CHECK(cudaStreamBeginCapture(main_stream, 0));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  for (int step = 1; step <= 2; step++) {
    LAUNCH(add, grid, block, 0, main_stream, a, step, n);
    LAUNCH(add, grid, block, 0, side, b, step * 10, n);
  }
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
  CHECK(cudaMemsetAsync(c, 0, n * 4, main_stream));
  LAUNCH(sum, grid, block, 0, main_stream, a, b, c, n);
  CHECK(cudaStreamEndCapture(main_stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(exec, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  int result = 0;
  CHECK(cudaMemcpy(&result, static_cast<int*>(c) + n - 1, 4, kDeviceToHost));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  printf("graphs: %d\n", result);
  return result == 3 * 33 ? 0 : 1;
}
