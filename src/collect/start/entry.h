// Getting ready in a process: done by the library's constructor, or by the first hook that runs before it (libraries
// that the program links to run their constructors before a preloaded one does).
#pragma once

namespace tprof {

// Does next to nothing, once: message descriptor, Python's audit hook, fork handlers. False in a process that must not
// be profiled (set-uid, TPROF_DISABLE=1).
bool enter_process();

// The absolute path of this library; "": unknown, as in programs that link the collector. It is set once
// enter_process() has returned true, without dladdr(), which would take longer than all the rest of a constructor.
const char* library_file();

}  // namespace tprof
