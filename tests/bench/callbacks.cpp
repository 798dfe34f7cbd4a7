// Callbacks that do nothing: what torch's own machinery (at::RecordFunction), and Python's (sys.monitoring), cost as
// soon as somebody listens.
//
// Built without torch's headers; worker.py finds at::addGlobalCallback in the libtorch_cpu.so that its process has
// mapped and hands it to bench_listen.
#include <cstdint>

namespace {

// torch's std::unique_ptr<ObserverContext>: the destructor makes it travel as one, through a hidden pointer.
struct Context {
  void* nothing = nullptr;
  ~Context() {}
};

// at::RecordFunctionCallback.
struct Callback {
  Context (*start)(const void*);
  void (*end)(const void*, void*);
  double probability;
  std::uint8_t scopes[10];
  std::uint8_t needs_inputs, needs_outputs, needs_ids;
};
static_assert(sizeof(Callback) == 40);

std::uint64_t g_count;

Context ignore(const void*) { return {}; }

Context count(const void*) {
  __atomic_fetch_add(&g_count, 1, __ATOMIC_RELAXED);
  return {};
}

void end(const void*, void*) {}

}  // namespace

extern "C" {

// `scopes` has bit n for at::RecordScope n.
void bench_listen(std::uint64_t (*add_global_callback)(Callback), int scopes, int needs_inputs, int counts) {
  Callback callback{counts ? count : ignore, end, 1.0, {}, std::uint8_t(needs_inputs), 0, 0};
  for (int i = 0; i < 10; i++) callback.scopes[i] = scopes >> i & 1;
  add_global_callback(callback);
}

// What callgrind counts. It does not see calls that libffi makes, hence the second function; asm: no tail calls.
__attribute__((noinline)) void bench_counted(void (*counted)()) {
  counted();
  asm volatile("");
}

void bench_within(void (*counted)()) {
  bench_counted(counted);
  asm volatile("");
}

// Py_tracefunc, before there was sys.monitoring.
int bench_python_profile(void*, void*, int, void*) { return 0; }

// A METH_FASTCALL function of Python's, made with None for its object.
void* bench_python_ignore(void* none, void* const*, std::intptr_t) { return none; }

std::uint64_t bench_count() { return __atomic_load_n(&g_count, __ATOMIC_RELAXED); }
}
