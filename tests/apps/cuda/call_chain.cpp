// Calls into CUDA from a known chain of functions: main -> outer -> middle -> allocates, launches, waits, releases.
//   call_chain once | threads N | fork MILLISECONDS | deep N | plugins LIBRARY... | signals | nothrow
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "cuda.h"

KERNEL(add_one, 28, 0, 0, 2, 12000, {8}) {
  (void)grid, (void)block, (void)shared;
  ++*argument<int*>(arguments, 0);
}

// Frames must stay: no inlining, no jump in place of the last call.
#define FRAME extern "C" __attribute__((noinline, noclone, visibility("default")))
#define STAYS asm volatile("" ::: "memory")

FRAME void* allocates() {
  void* made;
  CHECK(cudaMalloc(&made, 4096));
  STAYS;
  return made;
}
FRAME void launches(void* data) {
  LAUNCH(add_one, (Dim3{1, 1, 1}), (Dim3{1, 1, 1}), 0, nullptr, data);
  STAYS;
}
FRAME void waits() {
  CHECK(cudaDeviceSynchronize());
  STAYS;
}
FRAME void releases(void* data) {
  CHECK(cudaFree(data));
  STAYS;
}
FRAME void middle() {
  void* data = allocates();
  launches(data);
  waits();
  releases(data);
  STAYS;
}
FRAME void outer() {
  middle();
  STAYS;
}
// With room on the stack whose size only the run knows: its frame is found by rbp.
FRAME void recurses(int depth) {
  char* room = static_cast<char*>(__builtin_alloca(16 + depth % 3 * 16));
  asm volatile("" ::"r"(room) : "memory");
  if (depth <= 0) return middle();
  recurses(depth - 1);
  STAYS;
}

// Each is unloaded before the next one is loaded, which then lies at the same addresses.
FRAME void plugins(int count, char** files) {
  for (int i = 0; i < count; i++) {
    void* plugin = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) printf("%s\n", dlerror()), exit(1);
    auto run = reinterpret_cast<void (*)()>(dlsym(plugin, "run"));
    printf("%p\n", reinterpret_cast<void*>(run));
    run();
    dlclose(plugin);
  }
}

// A handler on the thread's stack and on one of its own, and a function that it interrupts at an instruction that is no
// call, the first of the function.
FRAME void handles(int, siginfo_t*, void* context) {
  outer();
  constexpr int kBytes = 2;  // of ud2
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += kBytes;
}
extern "C" void interrupted();
asm(".globl interrupted\n.type interrupted, @function\ninterrupted:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n"
    ".size interrupted, . - interrupted");
FRAME void is_interrupted(int flags) {
  struct sigaction action {};
  action.sa_sigaction = handles;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(SIGILL, &action, nullptr);
  interrupted();
  STAYS;
}
FRAME void signals() {
  std::vector<char> memory(1 << 18);
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  for (int flags : {0, SA_ONSTACK}) is_interrupted(flags);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "once";
  int count = argc > 2 ? atoi(argv[2]) : 1;
  if (!strcmp(what, "plugins")) {
    plugins(argc - 2, argv + 2);
  } else if (!strcmp(what, "signals")) {
    signals();
    std::thread(signals).join();
  } else if (!strcmp(what, "threads")) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
      threads.emplace_back([] {
        for (int n = 0; n < 20; n++) outer();
      });
    for (std::thread& thread : threads) thread.join();
  } else if (!strcmp(what, "deep")) {
    for (int depth : {count, count - 1, count}) recurses(depth);
  } else if (!strcmp(what, "fork")) {
    outer();
    usleep(1000 * count);
    pid_t child = fork();
    if (child == 0) return outer(), 0;
    waitpid(child, nullptr, 0);
  } else {
    for (int i = 0; i < 2; i++) outer();
  }
  puts("done");
  return 0;
}
