// Looks like a Python to who reads it from outside, and is none. Prints a line and waits.
//   version     its code objects are not those of the version that it says it is
//   candidate   it is no final release
//   quiet       says that it is a version that publishes its layout, and does not
//   early       has no interpreter yet
//   rings       3.11: a list of threads, and frames, that never end; names as long as can be
//   published   3.13, which publishes its layout: a list of interpreters, and frames, that never end
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t _PyRuntime[128], PyCode_Type[64];
unsigned long Py_Version;
uint64_t PyExc_EncodingWarning, Py_GenericAliasType, PyPickleBuffer_Type;

static uint64_t first[32], second[32], third[32], state[32], holder[4], frame[16], code[32], text[16];

static uint64_t at(void* address) { return (uint64_t)address; }

// The first interpreter has a thread, or has it again and again; the others have none and follow each other for ever.
static void make_rings(int threads, int native, int threads_end) {
  first[0] = at(second);
  second[0] = at(third);
  third[0] = at(second);
  first[threads] = at(state);
  state[1] = threads_end ? 0 : at(state);
  state[2] = at(first);
  state[native] = (uint64_t)getpid();
  code[1] = at(PyCode_Type);
  text[2] = (uint64_t)1 << 62;
  text[4] = 1 << 2 | 1 << 5 | 1 << 6;
}

// Offsets in words, as in src/remote/known_layout.cpp.
static void python_311(void) {
  Py_Version = 0x030b02f0;
  PyCode_Type[3] = at("code");
  PyCode_Type[4] = 184;
  _PyRuntime[5] = at(first);
  make_rings(2, 20, 0);
  state[7] = at(holder);
  holder[1] = at(frame);
  frame[4] = at(code);
  frame[6] = at(frame);
  frame[7] = at(code) + 184;
  code[15] = code[14] = code[17] = at(text);
}

// The table's words, as in src/remote/published_layout.cpp.
static void python_313(void) {
  memcpy(&_PyRuntime[0], "xdebugpy", 8);
  _PyRuntime[1] = 0x030d00f0;
  _PyRuntime[5] = 127 * 8;
  _PyRuntime[9] = 5 * 8;
  _PyRuntime[21] = 1 * 8;
  _PyRuntime[23] = 7 * 8;
  _PyRuntime[25] = 20 * 8;
  _PyRuntime[29] = 1 * 8;
  _PyRuntime[31] = 2 * 8;
  _PyRuntime[35] = _PyRuntime[36] = _PyRuntime[38] = 14 * 8;
  _PyRuntime[43] = 23 * 8;
  _PyRuntime[127] = at(first);
  make_rings(5, 20, 1);
  state[7] = at(frame);
  frame[0] = at(code);
  frame[1] = at(frame);
  frame[2] = at(code) + 23 * 8;
  code[14] = at(text);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "version")) {
    python_311();
    PyCode_Type[4] = 192;
  } else if (!strcmp(what, "candidate")) {
    python_311();
    Py_Version = 0x030b00c1;
  } else if (!strcmp(what, "quiet")) {
    python_311();
    Py_Version = 0x030d00f0;
  } else if (!strcmp(what, "early")) {
    python_311();
    _PyRuntime[5] = 0;
  } else if (!strcmp(what, "rings")) {
    python_311();
  } else if (!strcmp(what, "published")) {
    python_313();
  }
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
