// Calls a function when the interpreter has its allocators and none of the program's code has run yet. Memory that an
// interpreter allocates earlier and frees at its end would be freed by another allocator if the debug allocators are
// chosen in between (python -X dev, PYTHONMALLOC=debug).
#pragma once

namespace tprof {

// `then` is called once, with the GIL, while the first interpreter is set up. Call this before, in the library's
// constructor. False: that is not possible in this Python.
bool python_when_set_up(void (*then)());
// Whether that returned true, so that this process is Python.
bool python_process();

}  // namespace tprof
