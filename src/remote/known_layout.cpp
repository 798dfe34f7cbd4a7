// The layouts of CPython 3.8 to 3.12, which do not publish them. Within one of these versions no release has changed
// what is read here. A build may have, so two marks are compared in the program's memory before a layout is used.
#include <cstring>

#include "remote/python_layout.h"

namespace tprof::remote {
namespace {

constexpr i32 kTypeName = 24, kTypeBasicSize = 32;  // in a type object
constexpr i32 kThreadInterpreter = 16;              // in a thread state: its interpreter
constexpr int kWalks = 5;                           // the list of threads changes while it is read
constexpr u32 kFinal = 0xf0;                        // in the version: no alpha, beta or candidate

constexpr u16 version(int minor) { return u16(3 << 8 | minor); }

// Columns as in PythonLayout. `brought`: a data symbol that this version defines and older ones do not. `code_bytes`:
// the basic size of code objects.
struct Known {
  u16 python;
  const char* brought;
  i32 code_bytes;
  i32 interpreters, threads;
  i32 thread_id, native_id, first, second;
  i32 code, previous, at, at_bytes, entered;
  i32 name, file, table, first_line, instructions;
};
constexpr Known kKnown[] = {
    {version(8), "PyPickleBuffer_Type", 176, 32, 8, 176, -1, 24, -1, 32, 24, 104, 1, -1, 112, 104, 120, 40, -1},
    {version(9), "Py_GenericAliasType", 176, 32, 8, 176, -1, 24, -1, 32, 24, 104, 1, -1, 112, 104, 120, 40, -1},
    {version(10), "PyExc_EncodingWarning", 176, 32, 8, 176, -1, 24, -1, 32, 24, 96, 2, -1, 112, 104, 120, 40, -1},
    {version(11), "Py_Version", 184, 40, 16, 152, 160, 56, 8, 32, 48, 56, 0, 68, 120, 112, 136, 72, 184},
    {version(12), "Py_Version", 192, 40, 72, 136, 144, 56, 0, 0, 8, 56, 0, -1, 120, 112, 136, 68, 192},
};

// The version by its symbols; since 3.11 one of them holds it.
std::string find_version(const Memory& memory, const PythonSymbols& symbols, u16& python) {
  for (const Known& k : kKnown)
    if (symbols.at(k.brought)) python = k.python;
  if (!python) return "it is older than Python 3.8";
  u64 holds = symbols.at("Py_Version");
  if (!holds) return "";
  u32 words = memory.get<u32>(holds).value_or(0);
  python = u16(words >> 16);
  return (words & kFinal) == kFinal ? "" : "it is no final release";
}

bool is_code_type(const Memory& memory, u64 type, i32 bytes) {
  constexpr char kName[] = "code";
  char name[sizeof kName];
  u64 at = memory.get<u64>(type + kTypeName).value_or(0);
  return memory.get<i64>(type + kTypeBasicSize) == bytes && memory.read(at, name, sizeof name) &&
         !memcmp(name, kName, sizeof name);
}

// Whether the thread states of the first interpreter that has any belong to it.
bool leads_back(const Memory& memory, const PythonLayout& layout, bool& has_threads) {
  u64 interpreter = memory.get<u64>(layout.runtime + u64(layout.interpreters)).value_or(0), state = 0;
  for (size_t i = 0; interpreter && i < kMaxInterpreters; i++) {
    state = memory.get<u64>(interpreter + u64(layout.threads)).value_or(0);
    if (state) break;
    interpreter = memory.get<u64>(interpreter + u64(layout.next_interpreter)).value_or(0);
  }
  has_threads = state;
  return state && memory.get<u64>(state + kThreadInterpreter) == interpreter;
}

}  // namespace

PythonSymbols symbols_of_versions() {
  PythonSymbols out;
  for (const Known& k : kKnown) out[k.brought] = 0;
  return out;
}

std::string known_layout(const Memory& memory, const PythonSymbols& symbols, PythonLayout& layout) {
  if (std::string why = find_version(memory, symbols, layout.python); !why.empty()) return why;
  const Known* known = nullptr;
  for (const Known& k : kKnown)
    if (k.python == layout.python) known = &k;
  if (!known) return "it does not publish its layout";
  layout.interpreters = known->interpreters;
  layout.next_interpreter = 0;
  layout.threads = known->threads;
  layout.next_thread = 8;
  layout.thread_id = known->thread_id;
  layout.native_id = known->native_id;
  layout.first = known->first;
  layout.second = known->second;
  layout.code = known->code;
  layout.previous = known->previous;
  layout.at = known->at;
  layout.at_bytes = known->at_bytes;
  layout.entered = known->entered;
  layout.name = known->name;
  layout.file = known->file;
  layout.table = known->table;
  layout.first_line = known->first_line;
  layout.instructions = known->instructions;
  if (!is_code_type(memory, layout.code_type, known->code_bytes))
    return "its code objects are laid out in an unknown way";
  bool has_threads = false;
  for (int tries = kWalks; tries--;)
    if (leads_back(memory, layout, has_threads)) return "";
  return has_threads ? "its threads are laid out in an unknown way" : "its interpreter has not started, or has ended";
}

}  // namespace tprof::remote
