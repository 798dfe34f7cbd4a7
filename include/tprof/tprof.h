/* tprof's public C API: header only, and a no-op when the program does not run under tprof.
 *
 * The Python module tprof (tools/python, in the wheel) has the same functions.
 * start() and stop() are those of torch.profiler.profile: start() begins the schedule at its step 0,
 * stop() ends the open window and writes it. Without TPROF_AUTOSTART=0 the profiler is started already.
 *
 * Every function returns 0, or -1 when it did nothing (not preloaded, not attached to torch, nothing open).
 * All are safe on any thread; none of them blocks on a trace being written.
 */
#ifndef TPROF_TPROF_H
#define TPROF_TPROF_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TPROF_API(name, parameters, arguments, types): one inline function that finds the real one once. */
#define TPROF_API(name, parameters, arguments, types) \
  static inline int name parameters {                 \
    static int(*real) types = NULL;                   \
    static int looked = 0;                            \
    if (!looked) {                                    \
      *(void**)(&real) = dlsym(RTLD_DEFAULT, #name);  \
      looked = 1;                                     \
    }                                                 \
    return real ? real arguments : -1;                \
  }

/* Starts the schedule at step 0 now; an open window is closed first. */
TPROF_API(tprof_start, (void), (), (void))
/* Ends the open window; nothing is recorded until the next tprof_start(). */
TPROF_API(tprof_stop, (void), (), (void))
/* Ends the current step and begins the next. After the first call, no other source of steps counts. */
TPROF_API(tprof_step, (void), (), (void))
/* Writes what the open window has recorded so far as a trace; recording goes on. With --trigger the next step opens a
   window if none is open. */
TPROF_API(tprof_flush, (void), (), (void))
/* 1 while a window records (active phase), 0 otherwise. */
TPROF_API(tprof_active, (void), (), (void))
/* A user range on this thread, shown like torch's record_function. Ranges of a thread must nest. */
TPROF_API(tprof_range_push, (const char* name), (name), (const char*))
TPROF_API(tprof_range_pop, (void), (), (void))

#undef TPROF_API

#ifdef __cplusplus
}
#endif
#endif
