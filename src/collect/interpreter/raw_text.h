// Reads a Python string at an address, without the GIL and without calling Python: for the names of code objects that a
// frame of the calling thread keeps alive.
//
// Strings made by the compiler are compact in every Python so far: a header, then 1, 2 or 4 bytes per character. The
// position of the kind in the header is learnt from a string of each kind.
#pragma once
#include "base/types.h"
#include "collect/interpreter/api.h"

namespace tprof {

struct RawTextLayout {
  i32 kind_shift = -1;  // of the kind's three bits in the state word; the two bits above are compact and ascii
  i32 ascii_data = 0;   // where the characters of an ASCII string start
  i32 wide_data = 0;    // and of any other
};
extern RawTextLayout g_raw_text;

// Learns the layout from four strings: ASCII, and others with one, two and four bytes per character. The header sizes
// are those of an empty ASCII string and of an empty string of the other kinds. GIL held, guarded.
bool learn_raw_text(PyObject* const samples[4], PySize ascii_header, PySize wide_header);

// The string as UTF-8, cut to what fits. Returns its length in bytes, -1 if it cannot be read. ASCII strings are not
// copied: `text` then points into the string itself.
PySize raw_text(const void* string, char* buffer, PySize buffer_bytes, const char*& text);

}  // namespace tprof
