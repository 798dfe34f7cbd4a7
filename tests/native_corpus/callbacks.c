/* Functions of the corpus: those that libraries call, and what is called from constructors and destructors. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "checkpoint.h"

__attribute__((constructor)) static void is_loaded(void) {
  checkpoint();
  AFTER_CALL;
}
__attribute__((destructor)) static void is_unloaded(void) {
  checkpoint();
  AFTER_CALL;
}

static int by_number(const void* x, const void* y) {
  checkpoint();
  return *(const int*)x - *(const int*)y;
}
static int by_number_and_more(const void* x, const void* y, void* more) {
  (*(int*)more)++;
  return by_number(x, y);
}
void corpus_sorts(void) {
  int numbers[] = {5, 3, 9, 1}, calls = 0;
  qsort(numbers, 4, sizeof *numbers, by_number);
  qsort_r(numbers, 4, sizeof *numbers, by_number_and_more, &calls);
  g_sink = calls;
}

static void on_visit(const void* node, VISIT visit, int depth) {
  (void)node, (void)visit;
  g_sink = depth;
  checkpoint();
}
void corpus_searches(void) {
  int numbers[] = {1, 3, 5, 7, 9}, key = 7;
  g_sink = bsearch(&key, numbers, 5, sizeof *numbers, by_number) != NULL;
  void* root = NULL;
  for (int i = 0; i < 3; i++) tsearch(&numbers[i], &root, by_number);
  twalk(root, on_visit);
  for (int i = 0; i < 3; i++) tdelete(&numbers[i], &root, by_number);
}

static void at_first(void) {
  checkpoint();
  AFTER_CALL;
}
void corpus_once(void) {
  pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, at_first);
}

static int on_object(struct dl_phdr_info* info, size_t size, void* arg) {
  (void)info, (void)size;
  checkpoint();
  looks_again();
  int last = ++*(int*)arg == 2;
  pause_looks();
  return last;
}
void corpus_objects(void) {
  int seen = 0;
  pause_looks();
  dl_iterate_phdr(on_object, &seen);
  looks_again();
}

static ssize_t on_write(void* cookie, const char* text, size_t bytes) {
  (void)cookie, (void)text;
  checkpoint();
  return (ssize_t)bytes;
}
void corpus_stream(void) {
  FILE* f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write});
  fprintf(f, "%d and %s\n", 7, "more");
  fclose(f);
}

static void value_ends(void* value) {
  (void)value;
  checkpoint();
}
static pthread_key_t g_key;
static void* runs(void* arg) {
  thread_begins();
  pthread_setspecific(g_key, arg);
  checkpoint();
  thread_ends();
  return NULL;
}
void corpus_thread(void) {
  pthread_t thread;
  pthread_key_create(&g_key, value_ends);
  pause_looks();
  if (pthread_create(&thread, NULL, runs, &g_key) == 0) pthread_join(thread, NULL);
  looks_again();
  pthread_key_delete(g_key);
}

/* A small library of the system that nothing else uses: it is loaded and unloaded each time. */
void corpus_opens_library(void) {
  pause_looks();
  void* library = dlopen("libBrokenLocale.so.1", RTLD_LAZY);
  looks_again();
  checkpoint();
  pause_looks();
  if (library) dlclose(library);
  checkpoint();
  looks_again();
}

void corpus_vdso(void) {
  struct timespec t;
  struct timeval v;
  for (int i = 0; i < 5; i++) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    clock_getres(CLOCK_MONOTONIC, &t);
    gettimeofday(&v, NULL);
    g_sink = t.tv_nsec + v.tv_usec + time(NULL) + sched_getcpu();
  }
}
