// A library whose thread-local destructor calls back into the program, in each of the four passes that glibc
// makes: so also after every other library's destructor has run.
#include <pthread.h>

static pthread_key_t key;
static void (*callback)(int);
static int passes_left = 4;

static void at_thread_end(void* value) {
  int pass = 4 - passes_left--;
  callback(pass);
  if (passes_left > 0) pthread_setspecific(key, value);
}

void arm(void (*function)(int)) {
  callback = function;
  pthread_key_create(&key, at_thread_end);
}

static void* body(void* unused) {
  (void)unused;
  callback(-1);  // the thread has recorded something before it ends
  pthread_setspecific(key, &key);
  return 0;
}

int run_thread(void) {
  pthread_t thread;
  passes_left = 4;
  if (pthread_create(&thread, 0, body, 0)) return 1;
  return pthread_join(thread, 0);
}
