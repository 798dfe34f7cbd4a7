#include "remote/python_reader.h"

#include <cstring>

#include "base/utf8.h"

namespace tprof::remote {
namespace {

constexpr u16 kCodeOfItsOwn = 3 << 8 | 12;
constexpr u16 kShortStrings = 3 << 8 | 12;         // since then strings have a shorter head
constexpr u64 kBytesLength = 16, kBytesData = 32;  // in a bytes object
constexpr u64 kTextLength = 16, kTextState = 32;   // in a string
constexpr size_t kMaxText = 64 << 10, kMaxTable = 1 << 20;
constexpr size_t kMaxKept = 256 << 20;  // bytes of all code objects together

// Where a string's kind stands in its state: three bits, followed by one each for compact and ascii.
constexpr u32 kKindShifts[] = {2, 16};  // 16: the first releases of 3.14

}  // namespace

// A copy of the memory around the frames: since 3.11 those of a thread lie close to each other.
struct PythonReader::Window {
  static constexpr u64 kBytes = 16 << 10;
  static constexpr u64 kAbove = 512;  // a frame's fields; the rest lies below it, where its callers' frames are
  const Memory& memory;
  u64 begin = 0, bytes = 0;
  std::string copy = {};

  template <class T>
  bool get(u64 address, T& out) {
    if (address > ~u64(0) - kAbove) return false;  // any address may have been read
    if (address < begin || address + sizeof out > begin + bytes) {
      u64 end = address + kAbove;
      begin = end > kBytes ? end - kBytes : 0;
      bytes = kBytes;
      copy.resize(kBytes);
      if (!memory.read(begin, copy.data(), bytes)) {
        begin = bytes = 0;  // not all of it is mapped
        return memory.read(address, &out, sizeof out);
      }
    }
    memcpy(&out, copy.data() + (address - begin), sizeof out);
    return true;
  }
};

std::vector<PythonThread> PythonReader::threads() const {
  std::vector<PythonThread> out;
  u64 interpreter = memory_.get<u64>(layout_.runtime + u64(layout_.interpreters)).value_or(0);
  for (size_t i = 0; interpreter && i < kMaxInterpreters; i++) {
    u64 state = memory_.get<u64>(interpreter + u64(layout_.threads)).value_or(0);
    while (state && out.size() < kMaxThreads) {
      PythonThread t{state};
      if (layout_.thread_id >= 0) t.pthread = memory_.get<u64>(state + u64(layout_.thread_id)).value_or(0);
      if (layout_.native_id >= 0) t.native = memory_.get<u64>(state + u64(layout_.native_id)).value_or(0);
      out.push_back(t);
      state = memory_.get<u64>(state + u64(layout_.next_thread)).value_or(0);
    }
    interpreter = memory_.get<u64>(interpreter + u64(layout_.next_interpreter)).value_or(0);
  }
  return out;
}

u64 PythonReader::gil_holder() const {
  u64 interpreter = memory_.get<u64>(layout_.runtime + u64(layout_.interpreters)).value_or(0);
  if (!interpreter || layout_.gil_locked < 0 || layout_.gil_holder < 0 ||
      memory_.get<i32>(interpreter + u64(layout_.gil_locked)).value_or(0) <= 0)
    return 0;
  return memory_.get<u64>(interpreter + u64(layout_.gil_holder)).value_or(0);
}

// Whether a frame's object is Python code, and not the interpreter's own (3.12 gives that a code object, too).
bool PythonReader::is_shown(u64 object) {
  if (!object) return false;
  auto [known, added] = is_shown_.try_emplace(object);
  if (added && memory_.get<u64>(object + kTypeOfObject) == layout_.code_type) {
    const PythonCode* code = layout_.python == kCodeOfItsOwn ? code_at(object) : nullptr;
    known->second = !code || code->file != "<shim>";
  }
  return known->second;
}

PythonStack PythonReader::stack_of(const PythonThread& thread, size_t limit) {
  PythonStack out;
  is_shown_.clear();
  u64 frame = memory_.get<u64>(thread.state + u64(layout_.first)).value_or(0);
  if (frame && layout_.second >= 0) frame = memory_.get<u64>(frame + u64(layout_.second)).value_or(0);
  Window window{memory_};
  bool before_311 = layout_.at_bytes > 0;
  size_t steps = 0;
  while (frame) {
    if (out.frames.size() == limit || ++steps > 2 * limit) {
      out.cut = true;
      break;
    }
    u64 code, at, previous;
    if (frame & 7 || !window.get(frame + u64(layout_.code), code) || !window.get(frame + u64(layout_.at), at) ||
        !window.get(frame + u64(layout_.previous), previous)) {
      out.whole = false;
      break;
    }
    code &= ~u64(7);
    u8 entered = before_311;
    if (layout_.entered >= 0 && !window.get(frame + u64(layout_.entered), entered)) entered = 0;
    frame = previous & ~u64(7);
    if (!is_shown(code)) {  // since 3.12 the interpreter's own: the frame inside of it was entered
      if (!out.frames.empty()) out.frames.back().entered = true;
      continue;
    }
    PythonFrame f{code, 0, entered == 1};
    if (before_311) {
      i64 number = i32(at);
      f.offset = number < 0 ? 0 : number * layout_.at_bytes;
    } else {
      f.offset = i64(at - code) - layout_.instructions;
    }
    if (f.offset < 0) continue;
    out.frames.push_back(f);
  }
  if (!out.frames.empty() && !before_311 && layout_.entered < 0) out.frames.back().entered = true;
  return out;
}

bool PythonReader::read_text(u64 string, std::string& out) const {
  i64 length = memory_.get<i64>(string + kTextLength).value_or(-1);
  u32 state = memory_.get<u32>(string + kTextState).value_or(0);
  u32 kind = 0;
  bool ascii = false;
  for (u32 shift : kKindShifts) {
    u32 here = state >> shift & 7;
    bool compact = state >> (shift + 3) & 1;
    if (!compact || (here != 1 && here != 2 && here != 4)) continue;
    kind = here;
    ascii = state >> (shift + 4) & 1;
    break;
  }
  if (!kind || length < 0 || size_t(length) > kMaxText) return false;
  bool is_short = layout_.python >= kShortStrings;
  u64 data = ascii ? (is_short ? 40 : 48) : (is_short ? 56 : 72);
  std::string bytes(size_t(length) * kind, 0);
  if (!memory_.read(string + data, bytes.data(), bytes.size())) return false;
  if (ascii) return out = bytes, true;
  for (size_t i = 0; i < size_t(length); i++) {
    u32 character = 0;
    memcpy(&character, bytes.data() + i * kind, kind);
    append_utf8(out, character);
  }
  return true;
}

bool PythonReader::read_code(u64 address, PythonCode& out) const {
  auto pointer = [&](i32 offset) { return memory_.get<u64>(address + u64(offset)).value_or(0); };
  u64 table = pointer(layout_.table);
  i64 bytes = memory_.get<i64>(table + kBytesLength).value_or(-1);
  if (!read_text(pointer(layout_.name), out.name) || !read_text(pointer(layout_.file), out.file) || bytes < 0 ||
      size_t(bytes) > kMaxTable)
    return false;
  out.lines.python = layout_.python;
  out.lines.first_line = memory_.get<i32>(address + u64(layout_.first_line)).value_or(0);
  out.lines.table.resize(size_t(bytes));
  return memory_.read(table + kBytesData, out.lines.table.data(), size_t(bytes));
}

const PythonCode* PythonReader::code_at(u64 address) {
  auto known = codes_.find(address);
  if (known != codes_.end()) return &known->second;
  PythonCode code;
  if (kept_bytes_ > kMaxKept || !read_code(address, code)) return nullptr;
  kept_bytes_ += code.bytes();
  return &codes_.emplace(address, std::move(code)).first->second;
}

}  // namespace tprof::remote
