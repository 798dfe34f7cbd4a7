// Waits in a way that tprof stack must name, or must not disturb:
//   waits deadlock | epoll | sleep | exec PROGRAM... | nothing
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void* first(void* x) {
  pthread_mutex_lock(&a);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&b);
  return x;
}

static void* second(void* x) {
  pthread_mutex_lock(&b);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&a);
  return x;
}

static int deadlock(void) {
  pthread_t t, u;
  pthread_barrier_init(&both, 0, 3);
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_barrier_wait(&both);
  puts("ready");
  fflush(stdout);
  return pthread_join(t, 0);
}

// Until something comes from its input, or that ends. epoll_wait is one of the calls that a debugger's stop breaks.
static int epoll(void) {
  struct epoll_event event = {EPOLLIN, {0}};
  int set = epoll_create1(0);
  epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
  puts("ready");
  fflush(stdout);
  int found = epoll_wait(set, &event, 1, 60000);
  printf("%d %s\n", found, found < 0 ? strerror(errno) : "found");
  return found != 1;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "deadlock")) return deadlock();
  if (argc > 1 && !strcmp(argv[1], "epoll")) return epoll();
  if (argc > 1 && !strcmp(argv[1], "sleep")) {
    puts("ready");
    fflush(stdout);
    return (int)sleep(60);
  }
  if (argc > 3 && !strcmp(argv[1], "exec")) {  // itself, again and again
    usleep(3000);
    int left = 0;
    sscanf(argv[3], "%d", &left);
    if (!left) return 7;
    char text[16];
    snprintf(text, sizeof text, "%d", left - 1);
    execl(argv[2], argv[2], "exec", argv[2], text, (char*)0);
  }
  return 1;
}
