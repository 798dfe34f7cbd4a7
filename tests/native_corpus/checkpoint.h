/* What the functions of the corpus see of the program that runs them, and the program of them. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

/* Both walkers look at the stack. */
void checkpoint(void);

/* A thread of the corpus calls them first and last: signal handlers need not learn where its stack is. */
void thread_begins(void);
void thread_ends(void);

/* From here on this thread's stack is not looked at from signal handlers, the steps' included: what follows blocks
 * signals, or takes a lock that the walkers take. And from here on it is again, in signal handlers of the corpus, too.
 */
void pause_looks(void);
void looks_again(void);

/* For functions that a signal interrupts in another way than by a trap or a timer: a handler that looks. */
void look_on_signal(int number, int flags);

struct CorpusCase {
  const char* name; /* 0 after the last one */
  void (*run)(void);
};
extern const struct CorpusCase corpus_cases[];

extern volatile long g_sink; /* takes results, so that nothing is computed for nothing */

#define APART __attribute__((noinline))
#define AFTER_CALL __asm__ volatile("" ::: "memory") /* what stands before it is no tail call */
#ifdef __cplusplus
}
#endif
