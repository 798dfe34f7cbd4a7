#include "collect/cuda/launches.h"

namespace tprof {

Launches::Launch& Launches::slot(u32 correlation) {
  Launch& l = launches_[correlation % kSlots];
  if (l.correlation != correlation) {
    if (l.expects && !l.has_record) open_--;  // an older launch whose record never arrived
    l = {0, correlation, false, false, false};
  }
  return l;
}

void Launches::call(u32 correlation, u64 begin_ns, bool expects) {
  if (!correlation) return;
  Launch& l = slot(correlation);
  // A runtime call and the driver call inside it share the id: the one that starts earlier is the program's.
  if (!l.begin_ns || begin_ns < l.begin_ns) l.begin_ns = begin_ns;
  if (expects && !l.expects && !l.has_record) open_++;
  l.expects |= expects;
}

u64 Launches::work(u32 correlation) {
  if (!correlation) return 0;
  Launch& l = slot(correlation);
  if (l.expects && !l.has_record) open_--;
  l.has_record = true;
  return l.begin_ns;
}

void Launches::capture(u32 tid, u64 ns, bool begins) {
  Capture* ended = nullptr;  // its own; else the oldest: another thread may end what one began
  for (Capture& c : captures_) {
    if (!c.begin_ns || c.end_ns) continue;
    if (c.tid == tid)
      c.end_ns = ns, ended = &c;
    else if (!begins && (!ended || (!ended->end_ns && c.begin_ns < ended->begin_ns)))
      ended = &c;
  }
  if (!begins) {
    if (ended && !ended->end_ns) ended->end_ns = ns;
    return;
  }
  Capture& oldest = captures_[capture_count_++ % kCaptures];
  if (oldest.end_ns) settle(oldest);
  oldest = {ns, 0, tid};
}

void Launches::end_captures(u64 ns) {
  for (Capture& c : captures_)
    if (c.begin_ns && !c.end_ns) c.end_ns = ns;
}

// Notes at the launches what follows from a capture that is to be forgotten.
void Launches::settle(const Capture& capture) {
  for (Launch& l : launches_) {
    if (!l.expects || l.has_record || l.begin_ns < capture.begin_ns || l.begin_ns > capture.end_ns) continue;
    l.expects = false;
    open_--;
  }
}

bool Launches::is_captured(u64 ns) const {
  for (const Capture& c : captures_)
    if (c.begin_ns && ns >= c.begin_ns && (!c.end_ns || ns <= c.end_ns)) return true;
  return false;
}

bool Launches::waits(const Launch& l, u64 begin_ns, u64 end_ns) const {
  return l.expects && !l.has_record && !l.given_up && l.begin_ns >= begin_ns && l.begin_ns < end_ns &&
         !is_captured(l.begin_ns);
}

u32 Launches::pending(u64 begin_ns, u64 end_ns) const {
  u32 n = 0;
  if (open_ == 0) return 0;
  for (const Launch& l : launches_) n += waits(l, begin_ns, end_ns);
  return n;
}

u32 Launches::give_up(u64 begin_ns, u64 end_ns) {
  u32 n = 0;
  if (open_ == 0) return 0;
  for (Launch& l : launches_) {
    if (!waits(l, begin_ns, end_ns)) continue;
    l.given_up = true;
    n++;
  }
  return n;
}

bool Launches::given_up(u32 correlation) const {
  const Launch& l = launches_[correlation % kSlots];
  return correlation && l.correlation == correlation && l.given_up;
}

}  // namespace tprof
