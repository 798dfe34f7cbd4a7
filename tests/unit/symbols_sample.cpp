// What symbols_test.cpp looks into, built with and without debug information. Line numbers matter.
#define KEPT __attribute__((noinline, noclone, used))

extern "C" KEPT int sample_plain(int n);
int sample_plain(int n) {
  asm volatile("" : "+r"(n));
  return n * 3 + 1;
}

static KEPT int sample_local() {
  int n = 5;
  asm volatile("" : "+r"(n));
  return n + 2;
}

namespace sample {
template <class T>
KEPT T template_(T a, int b) {
  return a + static_cast<T>(b);
}
template int template_<int>(int, int);
}  // namespace sample

int sample_all(int n);
int sample_all(int n) { return sample_plain(n) + sample_local() + sample::template_<int>(n, 2); }
