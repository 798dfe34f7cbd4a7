// EXPORT makes a function visible outside libtprof.so, which is built with -fvisibility=hidden. Functions with a C name
// are declared `extern "C" EXPORT`; those of torch keep their C++ names.
#pragma once
#define EXPORT __attribute__((visibility("default")))
