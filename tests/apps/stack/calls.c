// Blocking system calls, each in a thread of its own, all at once: calls MILLISECONDS. Each ends by its timeout, or by
// what the main thread does after that time. Prints for each one what it returned, errno, and how long it took.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static int ms;
static struct timespec wait_for, until;  // until: CLOCK_REALTIME
static struct timeval as_timeval;
static int ipc_semaphores, ipc_messages, from_pipe[2];
static pthread_barrier_t ready;
// What a call needs is made before the wait, by the same thread.
#define PREPARED pthread_barrier_wait(&ready)

static struct epoll_event event;
static long call_epoll_wait(void) {
  int set = epoll_create1(0);
  PREPARED;
  return epoll_wait(set, &event, 1, ms);
}
static long call_epoll_pwait(void) {
  int set = epoll_create1(0);
  sigset_t none;
  sigemptyset(&none);
  PREPARED;
  return epoll_pwait(set, &event, 1, ms, &none);
}
static long call_epoll_pwait2(void) {
  int set = epoll_create1(0);
  PREPARED;
  return syscall(SYS_epoll_pwait2, set, &event, 1, &wait_for, NULL, 0);
}
static long call_semop(void) {  // until main adds to it
  struct sembuf down = {0, -1, 0};
  PREPARED;
  return semop(ipc_semaphores, &down, 1);
}
static long call_semtimedop(void) {
  struct sembuf down = {1, -1, 0};
  PREPARED;
  return semtimedop(ipc_semaphores, &down, 1, &wait_for);
}
static long call_sigtimedwait(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 1);
  PREPARED;
  return sigtimedwait(&set, NULL, &wait_for);
}
static long call_sigwaitinfo(void) {  // until main sends it
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  PREPARED;
  return sigwaitinfo(&set, NULL);
}
static long call_io_getevents(void) {
  aio_context_t context = 0;
  struct io_event one;
  syscall(SYS_io_setup, 1, &context);
  PREPARED;
  return syscall(SYS_io_getevents, context, 1, 1, &one, &wait_for);
}
static long call_io_pgetevents(void) {
  aio_context_t context = 0;
  struct io_event one;
  syscall(SYS_io_setup, 1, &context);
  PREPARED;
  return syscall(SYS_io_pgetevents, context, 1, 1, &one, &wait_for, NULL);
}
static long call_io_uring_enter(void) {
  struct io_uring_params params = {0};
  struct __kernel_timespec timeout = {wait_for.tv_sec, wait_for.tv_nsec};
  struct io_uring_getevents_arg more = {0, 0, 0, (unsigned long)&timeout};
  long ring = syscall(SYS_io_uring_setup, 1, &params);
  PREPARED;
  return syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &more, sizeof more);
}

static int pair_end(int option) {
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  setsockopt(ends[0], SOL_SOCKET, option, &as_timeval, sizeof as_timeval);
  static char much[1 << 16];
  if (option == SO_SNDTIMEO)
    while (send(ends[0], much, sizeof much, MSG_DONTWAIT) > 0) {
    }
  return ends[0];
}
static char byte[1];
static struct iovec vector = {byte, 1};
static long call_recv(void) {
  int s = pair_end(SO_RCVTIMEO);
  PREPARED;
  return recv(s, byte, 1, 0);
}
static long call_recvmsg(void) {
  int s = pair_end(SO_RCVTIMEO);
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  PREPARED;
  return recvmsg(s, &message, 0);
}
static long call_recvmmsg(void) {
  int s = pair_end(SO_RCVTIMEO);
  struct mmsghdr message = {{.msg_iov = &vector, .msg_iovlen = 1}, 0};
  PREPARED;
  return recvmmsg(s, &message, 1, 0, NULL);
}
static long call_read(void) {
  int s = pair_end(SO_RCVTIMEO);
  PREPARED;
  return read(s, byte, 1);
}
static long call_readv(void) {
  int s = pair_end(SO_RCVTIMEO);
  PREPARED;
  return readv(s, &vector, 1);
}
static long call_send(void) {
  int s = pair_end(SO_SNDTIMEO);
  PREPARED;
  return send(s, byte, 1, 0);
}
static long call_sendmsg(void) {
  int s = pair_end(SO_SNDTIMEO);
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  PREPARED;
  return sendmsg(s, &message, 0);
}
static long call_write(void) {
  int s = pair_end(SO_SNDTIMEO);
  PREPARED;
  return write(s, byte, 1);
}
// A listening socket with room for nobody; its name is chosen by the kernel.
static int listener(struct sockaddr_un* name, socklen_t* bytes) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  bind(s, (struct sockaddr*)name, sizeof name->sun_family);
  *bytes = sizeof *name;
  getsockname(s, (struct sockaddr*)name, bytes);
  listen(s, 0);
  return s;
}
static long call_accept(void) {
  struct sockaddr_un name;
  socklen_t bytes;
  int s = listener(&name, &bytes);
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &as_timeval, sizeof as_timeval);
  PREPARED;
  return accept(s, NULL, NULL);
}
static long call_connect(void) {
  struct sockaddr_un name;
  socklen_t bytes;
  listener(&name, &bytes);
  int first = socket(AF_UNIX, SOCK_STREAM, 0), s = socket(AF_UNIX, SOCK_STREAM, 0);
  connect(first, (struct sockaddr*)&name, bytes);
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &as_timeval, sizeof as_timeval);
  PREPARED;
  return connect(s, (struct sockaddr*)&name, bytes);
}

// These go on by themselves after a stop.
static long call_poll(void) { return PREPARED, poll(NULL, 0, ms); }
static long call_ppoll(void) { return PREPARED, ppoll(NULL, 0, &wait_for, NULL); }
static long call_select(void) {
  struct timeval own = as_timeval;
  return PREPARED, select(0, NULL, NULL, NULL, &own);
}
static long call_pselect(void) { return PREPARED, pselect(0, NULL, NULL, NULL, &wait_for, NULL); }
static long call_nanosleep(void) { return PREPARED, nanosleep(&wait_for, NULL); }
static long call_clock_nanosleep(void) {
  return PREPARED, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
}
static long call_futex(void) {
  static int word;
  return PREPARED, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_for, NULL, 0);
}
static long call_pthread_cond_timedwait(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  return PREPARED, pthread_cond_timedwait(&condition, &mutex, &until);
}
static long call_sem_timedwait(void) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  return PREPARED, sem_timedwait(&semaphore, &until);
}
static long call_mq_timedreceive(void) {
  char name[64], message[64];
  snprintf(name, sizeof name, "/calls-%d", getpid());
  struct mq_attr few = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
  mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &few);
  mq_unlink(name);
  return PREPARED, mq_timedreceive(queue, message, sizeof message, NULL, &until);
}
static long call_msgrcv(void) {  // until main sends one
  struct {
    long type;
    char text[1];
  } message;
  return PREPARED, msgrcv(ipc_messages, &message, 1, 0, 0);
}
static long call_read_of_a_pipe(void) { return PREPARED, read(from_pipe[0], byte, 1); }
static long call_wait4(void) {
  pid_t child = fork();
  if (!child) {
    nanosleep(&wait_for, NULL);
    _exit(0);
  }
  return PREPARED, waitpid(child, NULL, 0) == child;
}

static struct {
  const char* name;
  long (*call)(void);
  pthread_t thread;
  long result;
  int error;
  double took_ms;
} calls[] = {
#define CALL(name) \
  { #name, call_##name, 0, 0, 0, 0 }
    CALL(epoll_wait),    CALL(epoll_pwait),
    CALL(epoll_pwait2),  CALL(semop),
    CALL(semtimedop),    CALL(sigtimedwait),
    CALL(sigwaitinfo),   CALL(io_getevents),
    CALL(io_pgetevents), CALL(io_uring_enter),
    CALL(recv),          CALL(recvmsg),
    CALL(recvmmsg),      CALL(read),
    CALL(readv),         CALL(send),
    CALL(sendmsg),       CALL(write),
    CALL(accept),        CALL(connect),
    CALL(poll),          CALL(ppoll),
    CALL(select),        CALL(pselect),
    CALL(nanosleep),     CALL(clock_nanosleep),
    CALL(futex),         CALL(pthread_cond_timedwait),
    CALL(sem_timedwait), CALL(mq_timedreceive),
    CALL(msgrcv),        CALL(read_of_a_pipe),
    CALL(wait4)};
enum { kCalls = sizeof calls / sizeof *calls };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
static double began_ms;

static void* one(void* at) {
  size_t i = (size_t)at;
  errno = 0;
  calls[i].result = calls[i].call();
  calls[i].error = errno;
  calls[i].took_ms = now_ms() - began_ms;
  return NULL;
}

int main(int argc, char** argv) {
  ms = argc > 1 ? atoi(argv[1]) : 500;
  as_timeval = (struct timeval){ms / 1000, ms % 1000 * 1000};
  wait_for = (struct timespec){ms / 1000, ms % 1000 * 1000000};
  ipc_semaphores = semget(IPC_PRIVATE, 2, 0600);
  ipc_messages = msgget(IPC_PRIVATE, 0600);
  if (pipe(from_pipe)) return 1;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGRTMIN + 1);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  pthread_barrier_init(&ready, NULL, kCalls + 1);
  for (size_t i = 0; i < kCalls; i++) pthread_create(&calls[i].thread, NULL, one, (void*)i);
  puts("ready");
  fflush(stdout);
  getchar();  // who watches has begun
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += ms * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  began_ms = now_ms();
  PREPARED;
  nanosleep(&wait_for, NULL);
  struct sembuf up = {0, 1, 0};
  semop(ipc_semaphores, &up, 1);
  struct {
    long type;
    char text[1];
  } message = {1, "x"};
  msgsnd(ipc_messages, &message, 1, 0);
  if (write(from_pipe[1], "x", 1) != 1) return 1;
  for (size_t i = 0; i < kCalls; i++)
    if (!strcmp(calls[i].name, "sigwaitinfo")) pthread_kill(calls[i].thread, SIGUSR1);
  for (size_t i = 0; i < kCalls; i++) {
    pthread_join(calls[i].thread, NULL);
    printf("%s %ld %d %.0f\n", calls[i].name, calls[i].result, calls[i].result < 0 ? calls[i].error : 0,
           calls[i].took_ms);
  }
  semctl(ipc_semaphores, 0, IPC_RMID);
  msgctl(ipc_messages, IPC_RMID, NULL);
  return 0;
}
