/* A library for tests/run/test_shrunk_recording.py: what a program sees of SIGBUS and gets by it, line by line. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int caught, others, on_stack;
static void *fault_at, *expected;
static char signal_stack[1 << 16];
static char* page;
static sigjmp_buf back;

static void see(const char* what) {
  struct sigaction now;
  sigaction(SIGBUS, NULL, &now);
  printf("%s: handler %d flags %x mask", what, now.sa_handler != SIG_DFL, now.sa_flags & ~0x4000000 /* libc's own */);
  for (int s = 1; s < 32; s++)
    if (sigismember(&now.sa_mask, s)) printf(" %d", s);
  printf("\n");
}

static void mapped(int s, siginfo_t* info, void* context) {
  char here;
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  caught = s;
  fault_at = info->si_addr;
  others = sigismember(&mask, SIGUSR1) + 2 * sigismember(&mask, SIGBUS) + 4 * sigismember(&mask, SIGHUP);
  on_stack = &here >= signal_stack && &here < signal_stack + sizeof signal_stack;
  mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  (void)context;
}

static void jumps(int s) {
  caught = s;
  siglongjmp(back, 1);
}

static void counts(int s) { caught += s; }

static char* cut_page(void) {
  FILE* file = tmpfile();
  ftruncate(fileno(file), 4096);
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  ftruncate(fileno(file), 0);
  fclose(file);
  return page;
}

void bus_cases(void) {
  see("at first");
  struct sigaction set = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, was;
  stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  sigaltstack(&stack, NULL);
  set.sa_sigaction = mapped;
  sigaddset(&set.sa_mask, SIGUSR1);
  printf("set %d\n", sigaction(SIGBUS, &set, &was));
  see("own");
  expected = cut_page() + 8;
  page[8] = 5;
  printf("caught %d, at its address %d, mask %d, stack %d, value %d\n", caught, fault_at == expected, others, on_stack,
         page[8]);
  caught = 0;
  set.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &set, NULL);
  see("no defer");
  cut_page()[0] = 1;
  printf("caught %d, mask %d, stack %d\n", caught, others, on_stack);

  printf("former %d\n", signal(SIGBUS, jumps) == (void (*)(int))mapped);
  see("signal");
  if (!sigsetjmp(back, 1)) cut_page()[0] = 1;
  printf("jumped with %d\n", caught);
  caught = 0;
  printf("former %d\n", sysv_signal(SIGBUS, counts) == jumps);
  see("one shot");
  raise(SIGBUS);
  see("after it");
  printf("counted %d, invalid %d\n", caught, signal(SIGBUS, SIG_ERR) == SIG_ERR);
  set.sa_handler = counts;
  set.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGBUS, &set, NULL);
  see("reset");
  kill(getpid(), SIGBUS);
  see("after it");
  signal(SIGBUS, SIG_IGN);
  raise(SIGBUS);
  printf("ignored %d\n", signal(SIGBUS, SIG_DFL) == SIG_IGN);
  printf("restored %d\n", sigaction(SIGBUS, &was, NULL));
  see("at last");
  fflush(stdout);
}
