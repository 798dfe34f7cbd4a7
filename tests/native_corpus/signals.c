/* Functions of the corpus: signal handlers, what they interrupt, and other stacks. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "checkpoint.h"

static APART void raises(int number) {
  raise(number);
  AFTER_CALL;
}

void corpus_handler(void) {
  look_on_signal(SIGUSR1, 0);
  raises(SIGUSR1);
}

void corpus_handler_with_info(void) {
  look_on_signal(SIGUSR1, SA_SIGINFO | SA_RESTART);
  raises(SIGUSR1);
}

static void on_stack(void* memory, size_t bytes) {
  stack_t stack = {.ss_sp = memory, .ss_size = bytes}, before;
  sigaltstack(&stack, &before);
  look_on_signal(SIGUSR2, SA_ONSTACK);
  raises(SIGUSR2);
  sigaltstack(&before, NULL);
}
void corpus_handler_on_its_stack(void) {
  enum { kBytes = 1 << 17 };
  void* memory = malloc(kBytes);
  on_stack(memory, kBytes);
  free(memory);
}
/* What is interrupted lies below its handler. */
void corpus_handler_on_part_of_the_stack(void) {
  char memory[1 << 17];
  on_stack(memory, sizeof memory);
}

static void raises_another(int number) {
  looks_again();
  checkpoint();
  raises(number == SIGUSR1 ? SIGUSR2 : SIGURG);
  checkpoint();
}
void corpus_nested_handlers(void) {
  struct sigaction action = {.sa_handler = raises_another};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  look_on_signal(SIGURG, 0);
  raises(SIGUSR1);
}

/* At an instruction that is no call, of a function that keeps nothing on the stack. */
static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  looks_again();
  checkpoint();
  ((ucontext_t*)context)->uc_mcontext.gregs[16] += 2; /* REG_RIP: past ud2 */
}
static APART long faults(long x) {
  __asm__ volatile("ud2");
  return x + 1;
}
void corpus_fault_in_leaf(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
  sigaction(SIGILL, &action, &before);
  g_sink = faults(2);
  sigaction(SIGILL, &before, NULL);
}

static void* runs(void* arg) {
  thread_begins();
  corpus_handler();
  corpus_handler_on_its_stack();
  corpus_handler_on_part_of_the_stack();
  thread_ends();
  return arg;
}
void corpus_handler_in_thread(void) {
  pthread_t thread;
  pause_looks();
  if (pthread_create(&thread, NULL, runs, NULL) == 0) pthread_join(thread, NULL);
  looks_again();
}

static sigjmp_buf g_back;
static void jumps(int number) {
  looks_again();
  checkpoint();
  siglongjmp(g_back, number);
}
void corpus_jump_out_of_handler(void) {
  struct sigaction action = {.sa_handler = jumps};
  sigaction(SIGUSR1, &action, NULL);
  if (!sigsetjmp(g_back, 1)) raises(SIGUSR1);
  checkpoint();
}

static ucontext_t g_caller, g_coroutine;
static APART void coroutine(void) {
  checkpoint();
  swapcontext(&g_coroutine, &g_caller);
  checkpoint();
}
void corpus_coroutine(void) {
  enum { kBytes = 1 << 17 };
  char* memory = malloc(kBytes);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = memory;
  g_coroutine.uc_stack.ss_size = kBytes;
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, coroutine, 0);
  for (int i = 0; i < 2; i++) {
    checkpoint();
    swapcontext(&g_caller, &g_coroutine);
  }
  checkpoint();
  free(memory);
}
