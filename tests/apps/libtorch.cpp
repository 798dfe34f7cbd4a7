// A C++ program on libtorch, without Python: operators under labels, on several threads, with C++ exceptions
// that cross them, in thread-local destructors, and in another thread that ends.  Also built as a plug-in.
//   libtorch ops|threads|destructors|kill
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <pthread.h>
#include <signal.h>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void work(const char* prefix, int number) {
  RECORD_USER_SCOPE(std::string(prefix) + std::to_string(number));
  at::Tensor x = at::ones({3, 4});
  x = at::mm(x, x.t()).add(1);
}

static int throw_through_torch() {
  int caught = 0;
  for (int i = 0; i < 10; i++) {
    try {
      at::mm(at::ones({2, 3}), at::ones({2, 3}));
    } catch (const std::exception&) {
      caught++;
    }
  }
  return caught;
}

static pthread_key_t key;
static thread_local struct Last {
  bool armed = false;
  ~Last() {
    if (armed) work("tls:", 0);
  }
} last;

static void at_thread_end(void* left) {
  long passes = reinterpret_cast<long>(left);
  work("tls:", static_cast<int>(passes));
  if (passes > 1) pthread_setspecific(key, reinterpret_cast<void*>(passes - 1));
}

extern "C" int run_ops() {
  for (int i = 0; i < 50; i++) work("mark:", i);
  return throw_through_torch();
}

#ifndef PLUGIN
int main(int, char** argv) {
  std::string mode = argv[1];
  std::printf("caught %d\n", run_ops());
  if (mode == "threads") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
      threads.emplace_back([t] {
        for (int i = 0; i < 25; i++) work("thread:", t * 25 + i);
      });
    for (std::thread& t : threads) t.join();
  }
  if (mode == "destructors") {
    pthread_key_create(&key, at_thread_end);
    std::thread([] {
      last.armed = true;
      work("thread:", 0);
      pthread_setspecific(key, reinterpret_cast<void*>(3));
    }).join();
  }
  std::fflush(stdout);
  if (mode == "kill") raise(SIGKILL);
  return 6;
}
#endif
