// A moment at which the interpreter has its allocators and none of the program's code has run yet. What is taken from an
// interpreter earlier, and given back by it at the end, is freed by another allocator if the debug allocators were asked
// for in between (python -X dev, PYTHONMALLOC=debug).
#pragma once

namespace tprof {

// `then` is called once, with the GIL, while the first interpreter is set up. To be called before that, in the library's
// constructor. False: this Python has no such moment.
bool python_when_set_up(void (*then)());
// Whether that returned true: this process is a Python.
bool python_process();

}  // namespace tprof
