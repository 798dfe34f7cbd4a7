/* An NVTX client: with NVIDIA's headers, or with -DOWN_HEADER our own (nvtx_own.h). A program, or with -DMODULE a
 * shared object with the same functions for Python and dlopen_local.c.
 *
 *   all        every function once, with what it returned on stdout
 *   threads    8 threads push and pop; ranges that start in one and end in another
 *   cross      ranges of two domains that cross
 *   fork       a range open across a fork
 *   steps N    N times a range "iteration <i>" around "work"
 *   ranges N   N times a range "iteration <i>", pushed or started, and one "save" behind it
 *   chunks     ranges open over many chunks of the recording
 *   open       ranges that never end
 *   sleep      pushes for ever, until it is killed */
#ifdef OWN_HEADER
#include "nvtx_own.h"
#else
#include <nvtx3/nvToolsExt.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static nvtxEventAttributes_t with(const char* message) {
  nvtxEventAttributes_t a;
  memset(&a, 0, sizeof a);
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = message;
  return a;
}

static void all(void) {
  nvtxInitialize(NULL);
  printf("pop %d\n", nvtxRangePop());
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the thread that does everything");
  nvtxNameCategoryA(7, "IO");
  nvtxNameCategoryW(8, L"\u00fcber");
  printf("push %d", nvtxRangePushA("outer"));
  printf(" %d", nvtxRangePushW(L"wide \u00e9\u4e2d\U0001f600"));
  nvtxEventAttributes_t a = with("attributes");
  a.category = 7;
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0xff112233;
  a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  a.payload.llValue = -12345;
  printf(" %d", nvtxRangePushEx(&a));
  nvtxDomainHandle_t d = nvtxDomainCreateA("my.domain"), e = nvtxDomainCreateW(L"other.domain");
  printf(" same %d other %d\n", nvtxDomainCreateA("my.domain") == d, d == e);
  nvtxDomainNameCategoryA(d, 7, "net");
  nvtxDomainNameCategoryW(e, 3, L"disk");
  nvtxEventAttributes_t r = with(NULL);
  r.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  r.message.registered = nvtxDomainRegisterStringA(d, "registered");
  printf("registered %d\n", nvtxDomainRegisterStringA(d, "registered") == r.message.registered);
  r.category = 7;
  r.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  r.payload.dValue = 1.5;
  printf("domain push %d", nvtxDomainRangePushEx(d, &r));
  printf(" %d", nvtxDomainRangePushEx(d, &r));
  r.message.registered = nvtxDomainRegisterStringW(e, L"registered \u00df");
  r.category = 99;
  r.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  r.payload.fValue = 0.25f;
  printf(" other %d\n", nvtxDomainRangePushEx(e, &r));
  nvtxDomainMarkEx(d, &r);
  nvtxMarkA("mark");
  nvtxMarkW(L"mark \u00e9");
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  a.payload.ullValue = UINT64_MAX;
  a.message.ascii = "mark with attributes";
  nvtxMarkEx(&a);
  printf("domain pop %d", nvtxDomainRangePop(d));
  printf(" %d", nvtxDomainRangePop(d));
  printf(" %d", nvtxDomainRangePop(d));
  printf(" other %d", nvtxDomainRangePop(e));
  printf(" default %d\n", nvtxDomainRangePop(NULL));
  nvtxRangeId_t one = nvtxRangeStartA("started"), two = nvtxRangeStartW(L"started wide");
  a.message.ascii = "started with attributes";
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  a.payload.uiValue = 4000000000u;
  nvtxRangeId_t three = nvtxRangeStartEx(&a);
  a.message.ascii = "started in a domain";
  a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  a.payload.iValue = -7;
  nvtxRangeId_t four = nvtxDomainRangeStartEx(d, &a);
  printf("ids differ %d\n", one && two && three && four && one != two && two != three && three != four && one != four);
  nvtxRangeEnd(one);
  nvtxDomainRangeEnd(d, four);
  nvtxRangeEnd(two);
  nvtxRangeEnd(three);
  nvtxRangeEnd(three);
  nvtxRangeEnd(12345);
  nvtxDomainDestroy(d);
  nvtxRangePushEx(NULL);
  nvtxRangePop();
  nvtxMarkA(NULL);
  nvtxRangePushA("ProfilerStep#no number");
  nvtxRangePop();
  printf("pop %d", nvtxRangePop());
  printf(" %d\n", nvtxRangePop());
}

static nvtxRangeId_t started[8];
static void* work(void* argument) {
  long me = (long)argument;
  char name[64];
  snprintf(name, sizeof name, "worker thread number %ld", me);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
  for (int i = 0; i < 2000; i++) {
    snprintf(name, sizeof name, "thread %ld range %d", me, i % 100);
    if (nvtxRangePushA(name) != 0 || nvtxRangePushA("inner") != 1 || nvtxRangePop() != 1 || nvtxRangePop() != 0)
      abort();
  }
  snprintf(name, sizeof name, "handed over %ld", me);
  started[me] = nvtxRangeStartA(name);
  return NULL;
}

static void threads(void) {
  pthread_t all[8];
  for (long i = 0; i < 8; i++) pthread_create(&all[i], NULL, work, (void*)i);
  for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
  for (int i = 0; i < 8; i++) nvtxRangeEnd(started[i]);
  printf("threads done\n");
}

static void cross(void) {
  nvtxDomainHandle_t d = nvtxDomainCreateA("crossing");
  nvtxEventAttributes_t a = with("in the domain");
  for (int i = 0; i < 10; i++) {
    nvtxRangePushA("default");
    nvtxDomainRangePushEx(d, &a);
    usleep(1000);
    nvtxRangePop();
    usleep(1000);
    nvtxDomainRangePop(d);
  }
}

static void forks(void) {
  nvtxRangePushA("around the fork");
  nvtxRangeId_t id = nvtxRangeStartA("started before the fork");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    printf("child pushes %d", nvtxRangePushA("in the child"));
    nvtxRangeEnd(id);
    printf(" pops %d", nvtxRangePop());
    printf(" %d\n", nvtxRangePop());
    fflush(stdout);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  nvtxRangeEnd(id);
  printf("parent pops %d, child %d\n", nvtxRangePop(), status);
}

static void ranges(int count) {
  char name[64];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "iteration %d", i);
    nvtxRangeId_t id = i % 2 ? nvtxRangeStartA(name) : 0;
    if (!id) nvtxRangePushA(name);
    nvtxRangePushA("work");
    usleep(2000);
    nvtxRangePop();
    id ? nvtxRangeEnd(id) : (void)nvtxRangePop();
    nvtxRangePushA("save");
    usleep(1000);
    nvtxRangePop();
  }
}

static void steps(int count) {
  char name[64];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "iteration %d", i);
    if (i % 2) {
      nvtxRangePushA(name);
    } else {
      nvtxEventAttributes_t a = with(NULL);
      a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      a.message.registered = nvtxDomainRegisterStringA(NULL, name);
      nvtxRangePushEx(&a);
    }
    nvtxRangePushA("work");
    usleep(2000);
    nvtxRangePop();
    nvtxRangePop();
  }
}

static void chunks(void) {
  nvtxRangePushA("pushed before");
  nvtxRangeId_t id = nvtxRangeStartA("started before");
  for (int i = 0; i < 50000; i++) {
    nvtxRangePushA("filler");
    nvtxRangePop();
  }
  nvtxRangeEnd(id);
  nvtxRangePop();
}

static void stay_open(void) {
  nvtxRangePushA("never popped");
  nvtxRangeStartA("never ended");
  nvtxRangePushA("whole");
  nvtxRangePop();
}

void client(const char* what, int count) {
  if (!strcmp(what, "all")) all();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "cross")) cross();
  if (!strcmp(what, "fork")) forks();
  if (!strcmp(what, "steps")) steps(count);
  if (!strcmp(what, "ranges")) ranges(count);
  if (!strcmp(what, "chunks")) chunks();
  if (!strcmp(what, "open")) stay_open();
  if (!strcmp(what, "sleep"))
    for (nvtxRangePushA("until killed"), nvtxMarkA("tick"), puts("ready"), fflush(stdout);; usleep(1000))
      nvtxMarkA("tick");
  fflush(stdout);
}

#ifdef MODULE
int push(const char* name) { return nvtxRangePushA(name); }
int pop(void) { return nvtxRangePop(); }
#else
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  client(argv[1], argc > 2 ? atoi(argv[2]) : 0);
  return 3;
}
#endif
