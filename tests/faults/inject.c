// Starts a program in an unfriendly place:   inject [WORD...] -- PROGRAM [ARGUMENT...]
//
//   limit=NAME:N        setrlimit, soft and hard: as, core, data, fsize, memlock, nofile, nproc, sigpending, stack
//   deny=CALL[:ERRNO]   the system call fails (seccomp); default EPERM
//   ignore=N, block=N   a signal that is ignored, or blocked, from the start
//   close=N             a descriptor that is closed
//   no-new-privileges   as containers set it
//   user=ID             another user and group
// Exit status 125: this place cannot be had here.
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct Name {
  const char* name;
  int value;
};

static const struct Name kLimits[] = {
    {"as", RLIMIT_AS},       {"core", RLIMIT_CORE},       {"data", RLIMIT_DATA},
    {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},     {"sigpending", RLIMIT_SIGPENDING}};

#define CALL(name) \
  { #name, SYS_##name }
static const struct Name kCalls[] = {CALL(membarrier),
                                     CALL(memfd_create),
                                     CALL(fallocate),
                                     CALL(ftruncate),
                                     CALL(close_range),
                                     CALL(statfs),
                                     CALL(fstatfs),
                                     CALL(process_vm_readv),
                                     CALL(ptrace),
                                     CALL(perf_event_open),
                                     CALL(madvise),
                                     CALL(mlock),
                                     CALL(setpriority),
                                     CALL(sched_setscheduler),
                                     CALL(prctl),
                                     CALL(pidfd_open),
                                     CALL(clone3),
                                     CALL(inotify_init1),
                                     CALL(getrandom),
                                     CALL(renameat2),
                                     CALL(rename),
                                     CALL(linkat),
                                     CALL(unlink),
                                     CALL(fsync),
                                     CALL(fdatasync),
                                     CALL(pwrite64),
                                     CALL(flock),
                                     CALL(mkdir),
                                     CALL(vfork),
                                     CALL(waitid),
                                     CALL(sched_getaffinity),
                                     CALL(rt_sigtimedwait),
                                     CALL(kill),
                                     CALL(tgkill),
                                     CALL(setsid),
                                     CALL(timer_create),
                                     CALL(eventfd2),
                                     CALL(sigaltstack),
                                     CALL(statx),
                                     CALL(copy_file_range)};
#undef CALL

static const struct Name kErrors[] = {{"EPERM", EPERM},   {"ENOSYS", ENOSYS}, {"ENOSPC", ENOSPC}, {"EIO", EIO},
                                      {"EINVAL", EINVAL}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}};

static void cannot(const char* what, const char* why) {
  fprintf(stderr, "inject: %s: %s\n", what, why);
  exit(125);
}

#define FIND(table, text) find(table, sizeof table / sizeof *table, text)
static int find(const struct Name* table, size_t count, const char* text) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(table[i].name, text) == 0) return table[i].value;
  cannot(text, "is not known");
  return 0;
}

// The part after the colon, which is cut off; NULL if there is none.
static char* after_colon(char* text) {
  char* colon = strchr(text, ':');
  if (colon) *colon++ = 0;
  return colon;
}

static void limit(char* text) {
  char* value = after_colon(text);
  if (!value) cannot(text, "has no value");
  struct rlimit both = {strtoul(value, NULL, 10), strtoul(value, NULL, 10)};
  if (setrlimit(FIND(kLimits, text), &both) != 0) cannot(text, strerror(errno));
}

static void deny(char* text) {
  char* error = after_colon(text);
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIND(kCalls, text), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error ? FIND(kErrors, error) : EPERM)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    cannot(text, strerror(errno));
}

static void block(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, NULL);
}

static void become(unsigned id) {
  if (setgroups(0, NULL) != 0 || setgid(id) != 0 || setuid(id) != 0) cannot("user", strerror(errno));
}

int main(int argc, char** argv) {
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
    char* value = strchr(argv[i], '=');
    if (value) *value++ = 0;
    if (strcmp(argv[i], "no-new-privileges") == 0)
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    else if (!value)
      cannot(argv[i], "is not known");
    else if (strcmp(argv[i], "limit") == 0)
      limit(value);
    else if (strcmp(argv[i], "deny") == 0)
      deny(value);
    else if (strcmp(argv[i], "ignore") == 0)
      signal(atoi(value), SIG_IGN);
    else if (strcmp(argv[i], "block") == 0)
      block(atoi(value));
    else if (strcmp(argv[i], "close") == 0)
      close(atoi(value));
    else if (strcmp(argv[i], "user") == 0)
      become((unsigned)atoi(value));
    else
      cannot(argv[i], "is not known");
  }
  if (i + 1 >= argc) cannot("program", "is missing");
  execvp(argv[i + 1], argv + i + 1);
  cannot(argv[i + 1], strerror(errno));
}
