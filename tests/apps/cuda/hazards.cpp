// hazards WHAT: what a profiler of CUDA calls must not disturb, and programs that would disturb one.
//   errno      is 42 before each call and must be so behind it
//   fork       a child forked before CUDA is used uses it; so does the parent
//   vfork      a child execs while its parent has used CUDA
//   nothing    out-parameters are null or point nowhere, calls fail
//   threads N  the first call of the process comes from N threads at once
//   steps      tprof_step() around three rounds of work
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "cuda.h"
#include "tprof/tprof.h"

static char g_host[4096];

static void use(size_t bytes) {
  void* at;
  CHECK(cudaMalloc(&at, bytes));
  CHECK(cudaMemcpy(at, g_host, bytes, kHostToDevice));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(at));
}

static int keeps_errno() {
  int wrong = 0;
  for (int i = 0; i < 20000; i++) {  // several chunks of records
    errno = 42;
    CHECK(cudaMemset(g_host, 0, 0));
    wrong += errno != 42;
  }
  return wrong;
}

static int child_of_fork() {
  pid_t child = fork();
  if (child == 0) {
    use(2048);
    _exit(6);
  }
  use(1024);
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static int child_of_vfork() {
  use(1024);
  pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(9);
  }
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static int failing() {
  void* at = reinterpret_cast<void*>(8);
  int sum = 0;
  sum += cudaMalloc(nullptr, 64) != 0;
  sum += cudaMalloc(&at, size_t(1) << 60) != 0;
  sum += at == reinterpret_cast<void*>(8);
  sum += cudaFree(reinterpret_cast<void*>(12)) != 0;
  cudaGetLastError();
  return sum;
}

static int from_threads(int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back([] { use(512); });
  for (auto& thread : threads) thread.join();
  return 0;
}

static int with_steps() {
  use(16);
  for (int i = 0; i < 3; i++) {
    tprof_step();
    use(size_t(100 + i));
  }
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  auto is = [&](const char* word) { return strcmp(what, word) == 0; };
  int result = is("errno")     ? keeps_errno()
               : is("fork")    ? child_of_fork()
               : is("vfork")   ? child_of_vfork()
               : is("nothing") ? failing()
               : is("threads") ? from_threads(argc > 2 ? atoi(argv[2]) : 8)
               : is("steps")   ? with_steps()
                               : -1;
  printf("hazards: %s %d\n", what, result);
  return 0;
}
