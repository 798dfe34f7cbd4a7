/* Functions of the corpus: frames that compilers make of C. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "checkpoint.h"

#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

static APART long leaf(long x) { return x * x + 1; }

static APART long inner(long x) {
  checkpoint();
  return leaf(x) + 2;
}
static APART long outer(long x) { return inner(x + 1) * 3; }
void corpus_chain(void) { g_sink = outer(5) + leaf(3); }

void corpus_large_frame(void) {
  char bytes[100000];
  memset(bytes + 50000, 1, 500);
  KEEP(bytes);
  g_sink = inner(bytes[50077]);
  KEEP(bytes);
}

static APART long with_room(long n) {
  char* room = __builtin_alloca((unsigned long)n);
  memset(room, 2, (unsigned long)n);
  KEEP(room);
  return inner(room[n - 1]) + room[0];
}
void corpus_room(void) { g_sink = with_room(33) + with_room(5000); }

static APART long with_array(int n) {
  long numbers[n];
  for (int i = 0; i < n; i++) numbers[i] = i;
  KEEP(numbers);
  for (int i = 1; i < 3; i++) {
    long more[n * i];
    more[n] = i;
    KEEP(more);
    numbers[0] += inner(n);
  }
  return numbers[n - 1] + numbers[0];
}
void corpus_variable_array(void) { g_sink = with_array(20); }

static APART long with_aligned(long x) {
  _Alignas(64) char wide[192];
  memset(wide, (int)x, sizeof wide);
  KEEP(wide);
  return inner(wide[64]) + wide[3];
}
void corpus_aligned(void) { g_sink = with_aligned(9); }

static APART long with_aligned_room(long n, long a, long b, long c, long d, long e, long on_the_stack) {
  _Alignas(256) char wide[256];
  char* room = __builtin_alloca((unsigned long)n);
  memset(room, 1, (unsigned long)n);
  memset(wide, 1, sizeof wide);
  KEEP(room);
  KEEP(wide);
  return with_aligned(on_the_stack) + a * b * c * d * e + wide[0] + room[0];
}
void corpus_aligned_room(void) { g_sink = with_aligned_room(77, 1, 2, 3, 4, 5, 6); }

static APART __attribute__((force_align_arg_pointer)) long realigned(long x) { return inner(x) + leaf(x); }
void corpus_realigned(void) { g_sink = realigned(4); }

static APART long variadic(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += i % 2 ? va_arg(list, double) : (double)va_arg(list, long);
  va_end(list);
  checkpoint();
  return (long)sum;
}
void corpus_variadic(void) { g_sink = variadic(9, 1L, 2.5, 3L, 4.5, 5L, 6.5, 7L, 8.5, 9L); }

static APART long recursion(long n) {
  char local[40];
  memset(local, (int)n, sizeof local);
  KEEP(local);
  if (n == 0) checkpoint();
  return n == 0 ? 1 : recursion(n - 1) + local[5];
}
void corpus_recursion(void) { g_sink = recursion(60); }

static APART long odd(long n);
static APART long even(long n) { return n == 0 ? inner(n) : 1 + odd(n - 1); }
static APART long odd(long n) {
  long result = n == 0 ? 0 : even(n - 1) + 2;
  AFTER_CALL;
  return result;
}
void corpus_mutual(void) { g_sink = even(20); }

static APART long third(long x) { return inner(x); }
static APART long second(long x) { return third(x + 1); }
static APART long first(long x) {
  char local[64];
  memset(local, 3, sizeof local);
  KEEP(local);
  return second(x + local[0]);
}
void corpus_tail_calls(void) { g_sink = first(1); }

/* The call is the last instruction of its function: the return address may belong to the next one. */
static jmp_buf g_back;
static APART __attribute__((noreturn)) void leaves(void) {
  checkpoint();
  longjmp(g_back, 1);
}
static APART __attribute__((noreturn)) void never_returns(long x) {
  g_sink = x;
  leaves();
}
void corpus_no_return(void) {
  if (!setjmp(g_back)) never_returns(3);
  checkpoint();
}

static APART long many_registers(long x) {
  long a = leaf(x), b = leaf(a), c = leaf(b), d = leaf(c), e = leaf(d), f = leaf(e), g = leaf(f);
  __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
  checkpoint();
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ inner(a + b);
}
void corpus_many_registers(void) { g_sink = many_registers(7); }

struct Wide {
  long at[12];
};
static APART struct Wide many_arguments(long a, double b, struct Wide c, long d, long e, long f, long g, long h) {
  c.at[0] += a + (long)b + d + e + f + g + h;
  checkpoint();
  return c;
}
void corpus_many_arguments(void) {
  struct Wide wide = {{1, 2, 3}};
  g_sink = many_arguments(1, 2.5, wide, 3, 4, 5, 6, 7).at[0];
}

/* Compilers that split functions put what follows a cold call elsewhere. */
static APART __attribute__((cold)) void rarely(long x) {
  g_sink = x;
  checkpoint();
}
static APART long with_cold_half(long x) {
  long y = leaf(x);
  if (__builtin_expect(y > 1, 0)) {
    char local[80];
    memset(local, (int)y, sizeof local);
    KEEP(local);
    rarely(local[7]);
    rarely(y);
    return leaf(y) + local[1];
  }
  return y;
}
void corpus_cold_half(void) { g_sink = with_cold_half(5) + with_cold_half(0); }

/* The calls of Windows: registers are saved that others do not save, xmm ones too. */
static APART __attribute__((ms_abi)) long windows(long a, double b, long c, long d, long e) {
  long x = leaf(a) + (long)b + c;
  checkpoint();
  return x + d + e;
}
void corpus_windows_calls(void) { g_sink = windows(1, 2, 3, 4, 5); }

#ifdef __clang__
void corpus_static_chain(void) { checkpoint(); }
#else
/* A function inside a function: the register that leads to the outer one is needed for the alignment otherwise. It is
 * called directly, since a pointer to it needs a stack that can be executed. */
void corpus_static_chain(void) {
  long sum = 0;
  APART __attribute__((force_align_arg_pointer)) long adds(long x) {
    _Alignas(64) char wide[64];
    memset(wide, 1, sizeof wide);
    KEEP(wide);
    sum += inner(x) + wide[1];
    return sum;
  }
  g_sink = adds(1) + adds(2);
}
#endif

static APART long jumps_back(sigjmp_buf* back, long n) {
  char local[50];
  memset(local, 1, sizeof local);
  KEEP(local);
  if (n == 0) siglongjmp(*back, 5);
  return jumps_back(back, n - 1) + local[1];
}
void corpus_jumps(void) {
  sigjmp_buf back;
  volatile int rounds = 0;
  while (sigsetjmp(back, rounds % 2) == 0 || ++rounds < 3) {
    checkpoint();
    jumps_back(&back, 5);
  }
  checkpoint();
}
