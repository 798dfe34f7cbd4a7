#include "collect/interpreter/raw_text.h"

#include <string.h>

namespace tprof {

constinit RawTextLayout g_raw_text;

namespace {

// The same in every CPython from 3.8 on.
constexpr i32 kLength = 16, kState = 32;

template <class T>
T load(const void* object, i32 offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

struct State {
  u32 kind;  // bytes per character
  bool compact, ascii;
};

State state_of(const void* string, i32 shift) {
  u32 bits = load<u32>(string, kState) >> shift;
  return {bits & 7, (bits & 8) != 0, (bits & 16) != 0};
}

// Returns the number of bytes written, at most 4.
int put_utf8(u32 c, char* at) {
  if (c < 0x80) return at[0] = char(c), 1;
  if (c < 0x800) return at[0] = char(0xc0 | c >> 6), at[1] = char(0x80 | (c & 63)), 2;
  int n = c < 0x10000 ? 3 : 4;
  for (int i = n; i-- > 1; c >>= 6) at[i] = char(0x80 | (c & 63));
  at[0] = char((n == 3 ? 0xe0 : 0xf0) | c);
  return n;
}

}  // namespace

bool learn_raw_text(PyObject* const samples[4], PySize ascii_header, PySize wide_header) {
  constexpr u32 kKinds[] = {1, 1, 2, 4};
  for (i32 shift = 0; shift <= 24; shift++) {
    bool all = true;
    for (int i = 0; i < 4; i++) {
      State s = state_of(samples[i], shift);
      all = all && s.kind == kKinds[i] && s.compact && s.ascii == (i == 0);
    }
    if (!all) continue;
    g_raw_text = {shift, i32(ascii_header), i32(wide_header)};
    return true;
  }
  return false;
}

PySize raw_text(const void* string, char* buffer, PySize buffer_bytes, const char*& text) {
  State s = state_of(string, g_raw_text.kind_shift);
  PySize length = load<PySize>(string, kLength);
  if (!s.compact || length < 0) return -1;
  const char* data = static_cast<const char*>(string) + (s.ascii ? g_raw_text.ascii_data : g_raw_text.wide_data);
  text = data;
  if (s.ascii) return length < buffer_bytes ? length : buffer_bytes;
  text = buffer;
  PySize used = 0;
  for (PySize i = 0; i < length && used + 4 <= buffer_bytes; i++) {
    u32 c = s.kind == 1   ? load<u8>(data, i32(i))
            : s.kind == 2 ? load<u16>(data, i32(2 * i))
                          : load<u32>(data, i32(4 * i));
    used += put_utf8(c, buffer + used);
  }
  return used;
}

}  // namespace tprof
