// Getting ready in a process: what the library's constructor does, or the first hook that runs before it (libraries
// linked to the program run their constructors before a preloaded one does).
#pragma once

namespace tprof {

// Next to nothing, once: message descriptor, Python's audit hook, fork handlers. False in a process that is none
// of our business (set-uid, TPROF_DISABLE=1).
bool enter_process();

// The file this library was loaded from, absolute; "": it cannot be told. Known when enter_process() has said yes, at no
// cost: dladdr() in a constructor takes longer than all the rest. Programs that link the collector have none.
const char* library_file();

}  // namespace tprof
