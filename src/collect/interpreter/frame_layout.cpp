#include "collect/interpreter/frame_layout.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "base/guard.h"
#include "collect/interpreter/frame_walk.h"
#include "collect/interpreter/raw_text.h"

namespace tprof {

constinit FrameLayout g_frame_layout;

namespace {

const char kFrameLayoutScript[] =
#include "frame_layout.py.inc"
    ;

constexpr u16 kOldest = 3 << 8 | 8, kNewest = 3 << 8 | 14;  // whose line tables are known
constexpr u16 kFramesApart = 3 << 8 | 11;                   // since then frames are not objects
constexpr u16 kListsOffsets = 3 << 8 | 13;                  // since then the interpreter publishes some of this itself

// The same in every CPython so far.
constexpr i32 kTypeBasicSize = 32;                 // PyTypeObject::tp_basicsize
constexpr i32 kBytesLength = 16, kBytesData = 32;  // PyBytesObject

constexpr u32 kMaxChain = 64;  // of a longer chain only the innermost frames are compared

struct Chain {
  const void* code[kMaxChain];
  i64 at[kMaxChain];  // f_lasti, in bytes
  u32 count = 0;
};

// A sample of code objects, and their attributes as Python returns them.
struct Samples {
  static constexpr u32 kMaxSamples = 16;
  PyObject* code[kMaxSamples];
  PyObject *name[kMaxSamples], *file[kMaxSamples], *table[kMaxSamples];
  i32 first_line[kMaxSamples], first_traceable[kMaxSamples];
  u32 count = 0;
};

char g_why[160] = "call stacks are set up when torch is imported, which has not happened";

PyObject* truth(bool value) {
  g_py.PyErr_Clear();
  return value ? g_py.PyUnicode_FromString("yes") : g_py.new_none();
}

bool fails(const char* why) {
  snprintf(g_why, sizeof g_why, "%s", why);
  return false;
}

u16 version() {
  char* end = nullptr;
  const char* text = g_py.Py_GetVersion();
  unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return u16(major << 8 | minor);
}

Chain chain_of(PyObject* tuple) {
  Chain chain;
  PySize count = g_py.PyTuple_Size(tuple) / 2;
  for (PySize i = 0; i < count && chain.count < kMaxChain; i++, chain.count++) {
    chain.code[i] = g_py.PyTuple_GetItem(tuple, 2 * i);
    chain.at[i] = g_py.PyLong_AsLong(g_py.PyTuple_GetItem(tuple, 2 * i + 1));
  }
  return chain;
}

// A new reference, nullptr if there is no such attribute.
PyObject* attribute(PyObject* object, const char* name) {
  PyObject* word = g_py.PyUnicode_FromString(name);
  PyObject* value = g_py.PyObject_GetAttr(object, word);
  g_py.Py_DecRef(word);
  return value;
}

bool take_samples(PyObject* tuple, Samples& s) {
  PySize count = g_py.PyTuple_Size(tuple) / 2;
  for (PySize i = 0; i < count && s.count < s.kMaxSamples; i++, s.count++) {
    PyObject* code = s.code[i] = g_py.PyTuple_GetItem(tuple, 2 * i);
    s.first_traceable[i] = i32(g_py.PyLong_AsLong(g_py.PyTuple_GetItem(tuple, 2 * i + 1)));
    s.name[i] = attribute(code, "co_name");
    s.file[i] = attribute(code, "co_filename");
    s.table[i] = attribute(code, g_code_layout.python >= (3 << 8 | 10) ? "co_linetable" : "co_lnotab");
    PyObject* line = attribute(code, "co_firstlineno");
    if (!s.name[i] || !s.file[i] || !s.table[i] || !line) return false;
    s.first_line[i] = i32(g_py.PyLong_AsLong(line));
    for (PyObject* taken : {s.name[i], s.file[i], s.table[i], line})
      g_py.Py_DecRef(taken);  // the code object has a reference of its own
  }
  return s.count >= 4;
}

// --- code objects

// The offset at which `holds(i, offset)` for every sample; -1 if there is none.
template <class Holds>
i32 offset_of(const Samples& s, i32 step, Holds holds) {
  for (i32 offset = 16; offset < 256; offset += step) {
    u32 i = 0;
    while (i < s.count && holds(i, offset)) i++;
    if (i == s.count) return offset;
  }
  return -1;
}

bool learn_code(const Samples& s) {
  CodeLayout& c = g_code_layout;
  auto pointer = [&](PyObject* const* values) {
    return offset_of(s, 8, [&](u32 i, i32 o) { return load_at<PyObject*>(s.code[i], o) == values[i]; });
  };
  auto number = [&](const i32* values) {
    return offset_of(s, 4, [&](u32 i, i32 o) { return load_at<i32>(s.code[i], o) == values[i]; });
  };
  for (u32 i = 0; i < s.count; i++)
    if (!is_code(s.code[i])) return false;
  c.name = pointer(s.name);
  c.file = pointer(s.file);
  c.table = pointer(s.table);
  c.first_line = number(s.first_line);
  if (c.python >= kFramesApart) {
    c.first_traceable = number(s.first_traceable);
    if (c.first_traceable < 0) return false;
  }
  if (c.name < 0 || c.file < 0 || c.table < 0 || c.first_line < 0) return false;
  const char* data = g_py.PyBytes_AsString(s.table[0]);
  return data == reinterpret_cast<const char*>(s.table[0]) + kBytesData &&
         load_at<PySize>(s.table[0], kBytesLength) == g_py.PyBytes_Size(s.table[0]);
}

// --- frames

// Follows the chain from `frame`; the interpreter's own frames may lie between. Fills `frames` with those of the chain.
bool follows(const char* frame, const Chain& chain, const FrameLayout& layout, const char** frames) {
  constexpr u32 kMaxBetween = 2;
  u32 matched = 0, between = 0;
  for (; frame && matched < chain.count; frame = load_at<const char*>(frame, layout.previous)) {
    if (reinterpret_cast<uintptr_t>(frame) & 7) return false;
    if (code_of(frame, layout) != chain.code[matched]) {
      if (matched == 0 || ++between > kMaxBetween) return false;
      continue;
    }
    frames[matched++] = frame;
    between = 0;
  }
  return matched == chain.count;
}

// Finds where frames hold their current instruction. The innermost one is left out: it has moved on since the chain was
// taken.
bool learn_instruction(const Chain& chain, const char* const* frames, FrameLayout& layout) {
  bool apart = g_code_layout.python >= kFramesApart;
  for (layout.at = 16; layout.at < 256; layout.at += apart ? 8 : 4)
    for (i32 bytes : {1, 2}) {
      i64 start = 0;
      bool all = true;
      for (u32 i = 1; i < chain.count && all; i++) {
        if (apart) {
          i64 here = load_at<i64>(frames[i], layout.at) - i64(reinterpret_cast<uintptr_t>(chain.code[i])) - chain.at[i];
          all = i == 1 || here == start;
          start = here;
        } else {
          all = chain.at[i] == i64(load_at<i32>(frames[i], layout.at)) * bytes;
        }
      }
      // The instructions are the variable part at the end of a code object.
      if (!all || (apart && start != load_at<PySize>(g_code_layout.type, kTypeBasicSize))) continue;
      g_code_layout.instructions = apart ? i32(start) : -1;
      layout.at_bytes = apart ? 0 : bytes;
      layout.at_mask = apart ? ~u64(0) : 0xffffffff;
      // Only 3.11 has it: after the instruction's address and the height of the value stack.
      constexpr u16 kHasEntered = 3 << 8 | 11;
      layout.entered = g_code_layout.python == kHasEntered ? layout.at + 12 : -1;
      return true;
    }
  return false;
}

// A guessed layout, and whether it holds. Testing a wrong one may fault.
struct Guess {
  const Chain& chain;
  const char* state;
  FrameLayout layout;
  bool holds;
};

bool holds(const Chain& chain, const char* state, const FrameLayout& layout, void (*test)(void*), FrameLayout& learnt) {
  Guess guess{chain, state, layout, false};
  bool whole = run_guarded(test, &guess);
  if (whole && guess.holds) learnt = guess.layout;
  return whole && guess.holds;
}

void finds_innermost(void* argument) {
  auto& g = *static_cast<Guess*>(argument);
  const char* frame = innermost_frame(g.state, g.layout);
  g.holds = frame && !(reinterpret_cast<uintptr_t>(frame) & 7) && code_of(frame, g.layout) == g.chain.code[0];
}

void finds_all(void* argument) {
  auto& g = *static_cast<Guess*>(argument);
  const char* frames[kMaxChain];
  const char* frame = innermost_frame(g.state, g.layout);
  g.holds = follows(frame, g.chain, g.layout, frames) && learn_instruction(g.chain, frames, g.layout);
}

bool learn_chain(const Chain& chain) {
  const char* state = static_cast<const char*>(g_py.PyGILState_GetThisThreadState());
  if (!state || chain.count < 5) return false;
  FrameLayout f;
  for (f.first = 0; f.first < 400; f.first += 8) {
    auto address = load_at<uintptr_t>(state, f.first);
    if (address < 4096 || address & 7 || address >> 47) continue;
    for (f.second = -8; f.second <= 32; f.second += 8)
      for (f.code = 0; f.code <= 64; f.code += 8) {
        if (!holds(chain, state, f, finds_innermost, f)) continue;
        for (f.previous = 0; f.previous <= 96; f.previous += 8)
          if (holds(chain, state, f, finds_all, g_frame_layout)) return true;
      }
  }
  return false;
}

// Since 3.13 the interpreter publishes a list of offsets for debuggers at the start of _PyRuntime. The list grows from
// version to version, but these runs of it are the same in all.
bool agrees_with_interpreter() {
  const char* runtime = static_cast<const char*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  if (g_code_layout.python < kListsOffsets || !runtime || memcmp(runtime, "xdebugpy", 8) != 0) return true;
  constexpr u32 kWords = 64, kFreeThreaded = 2;
  i64 list[kWords];
  memcpy(list, runtime, sizeof list);
  const FrameLayout& f = g_frame_layout;
  const CodeLayout& c = g_code_layout;
  u32 i = kFreeThreaded + 1;
  constexpr i64 kAny = -1;
  auto find = [&](std::initializer_list<i64> run) {
    auto differs = [&] {
      const i64* at = list + i;
      for (i64 value : run)
        if (*at++ != value && value != kAny) return true;
      return false;
    };
    while (i + run.size() <= kWords && differs()) i++;
    return i + run.size() <= kWords;
  };
  // Thread state: the innermost frame. Frame: its size, ..., the caller's frame, the code object, the instruction.
  bool frames = find({f.first, kAny, kAny, kAny, kAny, kAny, f.previous, f.code, f.at});
  // Code object: the file, the name, the qualified name, the line table, the first line, ..., the instructions.
  bool codes = find({c.file, c.name, kAny, c.table, c.first_line, kAny, kAny, kAny, c.instructions});
  return !list[kFreeThreaded] && f.second < 0 && frames && codes;
}

bool learn(PyObject* const* args) {
  fails("the calibration of call stacks did not finish");
  CodeLayout& c = g_code_layout;
  c.python = version();
  c.type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  if (c.python < kOldest || c.python > kNewest) return fails("the line tables of this Python version are not known");
  const char* flags = g_py.PyUnicode_AsUTF8(args[4]);
  if (!flags || strchr(flags, 't')) return fails("this Python is free-threaded");
  Samples samples;
  if (!c.type || !take_samples(args[1], samples) || !learn_code(samples))
    return fails("the code objects of this Python are laid out in an unknown way");
  if (!learn_chain(chain_of(args[0]))) return fails("the frames of this Python are laid out in an unknown way");
  PyObject* strings[4];
  for (int i = 0; i < 4; i++) strings[i] = g_py.PyTuple_GetItem(args[2], i);
  if (!learn_raw_text(strings, g_py.PyLong_AsLong(g_py.PyTuple_GetItem(args[3], 0)),
                      g_py.PyLong_AsLong(g_py.PyTuple_GetItem(args[3], 1))))
    return fails("the strings of this Python are laid out in an unknown way");
  if (!agrees_with_interpreter())
    return fails("the offsets that this Python publishes contradict the layout of frames that was found");
  return fails("the proof of the layout of frames did not finish"), true;
}

bool names_agree(const void* code) {
  for (i32 offset : {g_code_layout.name, g_code_layout.file}) {
    PyObject* string = load_at<PyObject*>(code, offset);
    const char* theirs = g_py.PyUnicode_AsUTF8(string);
    if (!theirs) return g_py.PyErr_Clear(), true;  // it has surrogates and cannot be compared
    char buffer[4096];
    const char* ours;
    PySize bytes = raw_text(string, buffer, sizeof buffer, ours);
    if (bytes < 0 || strncmp(ours, theirs, size_t(bytes)) != 0) return false;
    if (size_t(bytes) + 4 < sizeof buffer && theirs[bytes]) return false;
  }
  return true;
}

struct Proof {
  Chain chain;
  bool holds;
};

void prove(void* argument) {
  auto& p = *static_cast<Proof*>(argument);
  RawFrame frames[kMaxFrames];
  bool cut;
  const char* innermost = innermost_frame(g_py.PyGILState_GetThisThreadState(), g_frame_layout);
  u32 count = walk_frames(innermost, frames, cut), matched = 0;
  for (u32 i = 0; i < count && matched < p.chain.count; i++) {
    i64 offset = offset_in_code(frames[i]);
    if (offset < 0) continue;
    bool same = frames[i].code == p.chain.code[matched] && (matched == 0 || offset == p.chain.at[matched]);
    if (!same || !names_agree(frames[i].code)) return;
    matched++;
  }
  p.holds = matched == p.chain.count && (matched == kMaxChain || !cut);
}

}  // namespace

const char* frame_layout_script() {
  fails("this Python lacks a function that is needed to read its frames");
  return g_py.Py_GetVersion && g_py.PyLong_AsLong && g_py.PyTuple_Size && g_py.PyBytes_AsString && g_py.PyBytes_Size &&
                 g_py.PyGILState_GetThisThreadState
             ? kFrameLayoutScript
             : nullptr;
}

PyObject* learn_frames(PyObject*, PyObject* const* args, PySize count) { return truth(count == 5 && learn(args)); }

PyObject* prove_frames(PyObject*, PyObject* const* args, PySize count) {
  if (count != 1) return truth(false);
  Proof proof{chain_of(args[0]), false};
  bool whole = run_guarded(prove, &proof);
  return truth(whole && proof.holds);
}

PyObject* watch_ends(PyObject*, PyObject* const*, PySize) { return truth(watch_code_ends()); }

PyObject* have_ended(PyObject*, PyObject* const* args, PySize count) {
  return truth(count == 1 && code_ends_seen() >= u64(g_py.PyLong_AsLong(args[0])));
}

PyObject* frames_proven(PyObject*, PyObject* const* args, PySize count) {
  const char* why = count == 1 ? g_py.PyUnicode_AsUTF8(args[0]) : nullptr;
  if (why && strcmp(why, "yes") == 0)
    g_why[0] = 0;
  else if (why && *why)
    fails(why);
  g_py.PyErr_Clear();
  return g_py.new_none();
}

const char* frame_layout_why() { return g_why; }

}  // namespace tprof
