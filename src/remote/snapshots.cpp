#include "remote/snapshots.h"

#include <string.h>

#include <algorithm>
#include <utility>

namespace tprof::remote {
namespace {

constexpr int kLooks = 3;
constexpr u64 kNear = 4096;    // frames so far from each other are read as one range
constexpr u64 kGrowth = 1024;  // what is read beyond the innermost frame, for those that are entered meanwhile
constexpr u64 kMaxInRange = 256 << 10;
constexpr u64 kMaxRangeBytes = 256 << 20;  // in all ranges of a program; of a damaged one they have no end
constexpr u64 kLookEvery = 100;            // rounds after which interpreters are looked for anew

template <class T>
T value_in(const char* bytes, i32 offset) {
  T value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

}  // namespace

Snapshots::Snapshots(const Memory& memory, const PythonLayout& layout, size_t limit)
    : memory_(memory), layout_(layout), limit_(limit), codes_(memory, layout), ids_(memory) {
  state_bytes_ = size_t(std::max({layout.next_thread, layout.thread_id, layout.native_id, layout.first})) + 8;
  frame_bytes_ = size_t(std::max({layout.code, layout.previous, layout.at, layout.entered})) + 8;
}

// Walks the lists, a call per member. False: they changed meanwhile, or cannot be read, and what was known stays.
bool Snapshots::find_threads() {
  std::vector<Interpreter> interpreters;
  std::vector<u64> states;
  auto pointer = [&](u64 address, u64& to) {
    std::optional<u64> value = memory_.get<u64>(address);
    to = value.value_or(0);
    return value.has_value();
  };
  u64 interpreter;
  if (!pointer(layout_.runtime + u64(layout_.interpreters), interpreter)) return false;
  while (interpreter) {
    Interpreter& found = interpreters.emplace_back();
    found.address = interpreter;
    u64 state;
    if (!pointer(interpreter + u64(layout_.threads), state)) return false;
    while (state) {
      found.states.push_back(state);
      states.push_back(state);
      if (states.size() > kMaxThreads || !pointer(state + u64(layout_.next_thread), state)) return false;
    }
    if (interpreters.size() > kMaxInterpreters || !pointer(interpreter + u64(layout_.next_interpreter), interpreter))
      return false;
  }
  // What is known of threads that go on is kept.
  std::unordered_map<u64, Thread*> before;
  for (Thread& t : threads_) before[t.state] = &t;
  std::vector<Thread> threads(states.size());
  for (size_t i = 0; i < states.size(); i++) {
    if (auto known = before.extract(states[i])) threads[i] = std::move(*known.mapped());
    threads[i].state = states[i];
  }
  interpreters_ = std::move(interpreters);
  threads_ = std::move(threads);
  states_.resize(threads_.size() * state_bytes_);
  return true;
}

// All states in one call. False: the lists are not those that were found.
bool Snapshots::read_states() {
  std::vector<Piece> pieces;
  std::vector<u64> heads(interpreters_.size());
  i32 locked = 0;
  u64 holder = 0;
  for (size_t i = 0; i < interpreters_.size(); i++)
    pieces.push_back({interpreters_[i].address + u64(layout_.threads), &heads[i], sizeof heads[i]});
  for (size_t i = 0; i < threads_.size(); i++)
    pieces.push_back({threads_[i].state, states_.data() + i * state_bytes_, state_bytes_});
  bool gil = knows_gil() && !interpreters_.empty();
  if (gil) {
    u64 main = interpreters_.back().address;  // the newest comes first
    pieces.push_back({main + u64(layout_.gil_locked), &locked, sizeof locked});
    pieces.push_back({main + u64(layout_.gil_holder), &holder, sizeof holder});
  }
  memory_.read_pieces(pieces);
  for (const Piece& piece : pieces)
    if (!piece.read) return false;
  gil_holder_ = locked > 0 ? holder : 0;
  size_t at = 0;
  for (size_t i = 0; i < interpreters_.size(); i++) {
    u64 next = heads[i];
    for (u64 state : interpreters_[i].states) {
      if (next != state) return false;
      next = value_in<u64>(states_.data() + at++ * state_bytes_, layout_.next_thread);
    }
    if (next) return false;
  }
  return true;
}

u64 Snapshots::top_of(const Thread& t, bool second) const {
  return layout_.second >= 0 ? t.tops[second] : t.holders[second];
}

// Reads the frames of the threads in one call: the pointer to each one's innermost frame, and then its ranges.
void Snapshots::read_frames(std::vector<Thread*>& threads, bool second) {
  std::vector<Piece> pieces;
  for (Thread* t : threads) {
    pieces.push_back({t->state + u64(layout_.first), &t->holders[second], sizeof(u64)});
    if (layout_.second >= 0) pieces.push_back({t->holders[0] + u64(layout_.second), &t->tops[second], sizeof(u64)});
    for (Range& range : t->ranges) {
      std::vector<char>& bytes = second ? range.second : range.first;
      bytes.resize(range.end - range.begin);
      pieces.push_back({range.begin, bytes.data(), bytes.size()});
    }
  }
  memory_.read_pieces(pieces);
  size_t at = 0;
  for (Thread* t : threads) {
    t->unread = !pieces[at++].read;
    if (layout_.second >= 0) t->unread |= !pieces[at++].read;
    for (Range& range : t->ranges) range.read = pieces[at++].read;
  }
}

bool Snapshots::field(const Thread& t, u64 address, void* to, size_t bytes, bool second) const {
  for (const Range& range : t.ranges) {
    u64 size = range.end - range.begin, offset = address - range.begin;  // any address may have been read
    if (!range.read || offset >= size || size - offset < bytes) continue;
    memcpy(to, (second ? range.second : range.first).data() + (address - range.begin), bytes);
    return true;
  }
  return false;
}

bool Snapshots::frame_at(const Thread& t, u64 frame, RawFrame& out, bool second) const {
  out = {frame, 0, 0, 0, 0};
  if (frame & 7) return false;
  if (!field(t, frame + u64(layout_.code), &out.code, 8, second) ||
      !field(t, frame + u64(layout_.at), &out.at, 8, second) ||
      !field(t, frame + u64(layout_.previous), &out.previous, 8, second))
    return false;
  if (layout_.entered >= 0 && !field(t, frame + u64(layout_.entered), &out.entered, 1, second)) return false;
  out.code &= ~u64(7);
  out.previous &= ~u64(7);
  return true;
}

// Follows the frames of the first reading. What lies outside of it is read now, and is part of the second reading.
void Snapshots::walk(Thread& t) {
  t.frames.clear();
  t.cut = false;
  u64 frame = top_of(t, false);
  while (frame) {
    if (t.frames.size() >= 2 * limit_) {  // some of them may not be shown
      t.cut = true;
      return;
    }
    RawFrame raw;
    if (!frame_at(t, frame, raw, false)) {
      // Below are the callers' frames, in the same part of the stack; or there is nothing.
      bool found = false;
      for (u64 below : {kNear, u64(0)}) {
        if (frame > ~u64(0) - frame_bytes_) break;
        Range range;
        range.begin = frame > below ? frame - below : 0;
        range.end = frame + frame_bytes_;
        if (range_bytes_ + (range.end - range.begin) > kMaxRangeBytes) break;
        range.first.resize(range.end - range.begin);
        range.second = range.first;
        if (frame & 7 || !memory_.read(range.begin, range.first.data(), range.first.size())) continue;
        range.read = true;
        range_bytes_ += range.end - range.begin;
        t.ranges.insert(t.ranges.begin(), std::move(range));
        found = true;
        break;
      }
      if (!found || !frame_at(t, frame, raw, false)) {
        t.unread = true;
        return;
      }
    }
    t.frames.push_back(raw);
    frame = raw.previous;
  }
}

// Which frames were the same in the second reading, from the outermost one inwards.
void Snapshots::compare(Thread& t) const {
  size_t same = 0;
  for (size_t i = t.frames.size(); i-- > 0; same++) {
    RawFrame now;
    const RawFrame& then = t.frames[i];
    if (!frame_at(t, then.frame, now, true) || now.code != then.code || now.previous != then.previous) break;
  }
  // A frame that was left keeps its content for a while, so that it is enough that its memory is the same.
  t.changed = same < t.frames.size();
  if (!t.frames.empty() && !same) t.unread = true;
}

// The next reading takes the ranges at which there were frames.
void Snapshots::keep_ranges(Thread& t) const {
  std::vector<Range> ranges;
  for (const RawFrame& raw : t.frames) {
    u64 begin = raw.frame, end = raw.frame + frame_bytes_;
    auto near = std::find_if(ranges.begin(), ranges.end(), [&](const Range& r) {
      return begin + kNear >= r.begin && end <= r.end + kNear &&
             std::max(end, r.end) - std::min(begin, r.begin) <= kMaxInRange;
    });
    if (near == ranges.end()) {
      ranges.emplace_back();
      ranges.back().begin = begin;
      ranges.back().end = end;
    } else {
      near->begin = std::min(near->begin, begin);
      near->end = std::max(near->end, end);
    }
  }
  // Growth stays in the same page: the next one may not be mapped.
  if (!ranges.empty()) {
    u64 page_end = (ranges[0].end + 4095) & ~u64(4095);
    ranges[0].end = std::min(ranges[0].end + kGrowth, page_end);
  }
  for (size_t i = 0; i < ranges.size() && i < t.ranges.size(); i++) {  // their memory is used again
    ranges[i].first.swap(t.ranges[i].first);
    ranges[i].second.swap(t.ranges[i].second);
  }
  t.ranges = std::move(ranges);
}

void Snapshots::identify(Thread& t, const char* state) {
  if (layout_.native_id >= 0) {
    t.native = value_in<u64>(state, layout_.native_id);
  } else if (u64 pthread = layout_.thread_id < 0 ? 0 : value_in<u64>(state, layout_.thread_id); pthread != t.pthread) {
    t.pthread = pthread;
    t.native = u64(ids_.of(pthread, memory_.threads()));
  }
}

ThreadSnapshot Snapshots::shown(const Thread& t, bool gil) const {
  ThreadSnapshot out;
  out.native = t.native;
  out.gil = gil;
  out.unread = t.unread;
  out.changed = t.changed;
  out.cut = t.cut;
  bool before_311 = layout_.at_bytes > 0;
  constexpr i64 kLongestCode = 1 << 26;
  for (const RawFrame& raw : t.frames) {
    if (t.unread) break;
    KnownCode code = codes_.at(raw.code);
    if (!code.is_shown) {  // since 3.12 the interpreter's own: the frame inside of it was entered
      if (!out.frames.empty()) out.frames.back().entered = true;
      continue;
    }
    PythonFrame f{code.number, 0, before_311 || raw.entered == 1};
    if (before_311)
      f.offset = std::max<i64>(i32(raw.at), 0) * layout_.at_bytes;
    else
      f.offset = i64(raw.at - raw.code) - layout_.instructions;
    if (!code.number || f.offset >= kLongestCode) {
      out.unread = true;
      break;
    }
    if (f.offset < 0) continue;  // it has not started
    if (out.frames.size() == limit_) {
      out.cut = true;
      break;
    }
    out.frames.push_back(f);
  }
  if (out.unread) out.frames.clear();
  if (!out.frames.empty() && !before_311 && layout_.entered < 0) out.frames.back().entered = true;
  return out;
}

bool Snapshots::take(std::vector<ThreadSnapshot>& out, u64 only, const HasRun& has_run) {
  out.clear();
  bool found = (only || rounds_++ % kLookEvery != 0) && read_states();
  for (int i = 0; !found && i < kLooks; i++) found = find_threads() && read_states();
  if (!found) return false;
  range_bytes_ = 0;
  for (const Thread& t : threads_)
    for (const Range& range : t.ranges) range_bytes_ += range.end - range.begin;
  std::vector<Thread*> all, left;
  for (size_t i = 0; i < threads_.size(); i++) {
    Thread& t = threads_[i];
    const char* state = states_.data() + i * state_bytes_;
    identify(t, state);
    u64 holder = value_in<u64>(state, layout_.first);
    bool same = std::exchange(t.holders[0], holder) == holder;
    t.frames.clear();
    t.unread = t.changed = t.cut = false;
    if (!holder || (only && t.native != only)) continue;
    all.push_back(&t);
    bool ran = !t.native || has_run(t.native);
    if (!ran && same && !t.before.empty())
      t.frames = t.before, t.cut = t.before_cut;
    else
      left.push_back(&t);
  }
  for (int i = 0; !left.empty() && i < kLooks; i++) {
    read_frames(left, false);
    for (Thread* t : left)
      if (!t->unread) walk(*t);
    std::vector<Thread*> moved;
    for (Thread* t : left)
      if (t->unread || t->frames != t->before) moved.push_back(t);
    if (!moved.empty()) read_frames(moved, true);
    for (Thread* t : moved)
      if (!t->unread) compare(*t);
    for (Thread* t : left) {
      if (!t->unread || !t->frames.empty()) keep_ranges(*t);
      if (t->unread) t->ranges.clear();
    }
    std::erase_if(left, [](const Thread* t) { return !t->unread; });
  }
  std::vector<u64> codes;
  for (const Thread* t : all)
    for (const RawFrame& raw : t->frames) codes.push_back(raw.code);
  codes_.look_at(codes);
  for (Thread* t : all) {
    if (t->frames.empty() && !t->unread) continue;
    t->before.clear();
    if (!t->unread && !t->changed) t->before = t->frames, t->before_cut = t->cut;
    ThreadSnapshot snapshot = shown(*t, gil_holder_ && t->state == gil_holder_);
    if (snapshot.unread || !snapshot.frames.empty()) out.push_back(std::move(snapshot));
  }
  return true;
}

}  // namespace tprof::remote
