// Captures in each mode, while another thread launches work of its own: capture N [unsafe]
// `unsafe`: that thread allocates too, which a capture in the mode "global" does not survive.
#include <atomic>
#include <cstring>
#include <thread>

#include "cuda.h"

KERNEL(count, 16, 0, 0, 1, 10000, {8}) {
  (void)grid, (void)block, (void)shared;
  ++*argument<int*>(arguments, 0);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const bool is_unsafe = argc > 2 && !strcmp(argv[2], "unsafe");
  const Dim3 one = {1, 1, 1};
  void *captured, *beside;
  CHECK(cudaMalloc(&captured, 4));
  CHECK(cudaMalloc(&beside, 4));
  CHECK(cudaMemset(captured, 0, 4));
  Stream stream, other;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&other));
  int broken[3] = {};
  for (int i = 0; i < rounds; i++)
    for (int mode = 0; mode < 3; mode++) {
      Graph graph;
      CHECK(cudaStreamBeginCapture(stream, mode));
      LAUNCH(count, one, one, 0, stream, captured);
      std::thread([&] {
        LAUNCH(count, one, one, 0, other, beside);
        void* more;
        if (is_unsafe) (void)cudaMalloc(&more, 4);
      }).join();
      LAUNCH(count, one, one, 0, stream, captured);
      int result = cudaStreamEndCapture(stream, &graph);
      broken[mode] += result != 0;
      if (result) continue;
      GraphExec exec;
      CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
      CHECK(cudaGraphLaunch(exec, stream));
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaGraphExecDestroy(exec));
      CHECK(cudaGraphDestroy(graph));
    }
  int result;
  CHECK(cudaMemcpy(&result, captured, 4, kDeviceToHost));
  printf("broken: %d %d %d, counted: %d\n", broken[0], broken[1], broken[2], result);
}
