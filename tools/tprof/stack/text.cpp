#include "stack/text.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "base/printable.h"
#include "report/fit.h"

namespace tprof {
namespace {

const char* plural(size_t n, const char* one, const char* more) { return n == 1 ? one : more; }

std::string place_of(const ThreadFrame& frame) {
  if (frame.file.empty()) return "";
  std::string file = printable(frame.file);
  return frame.line ? file + ":" + std::to_string(frame.line) : file;
}

std::string function_of(const ThreadFrame& frame) {
  if (!frame.function.empty()) return printable(frame.function);
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(frame.offset));
  return text;
}

std::string state_of(const ThreadStack& t) {
  std::string out = t.runs ? "runs" : t.waits.empty() ? "waits" : "waits " + t.waits;
  if (t.waits.starts_with("in ") && !t.runs) out = "is " + t.waits;
  if (t.died) out = "got the signal";
  if (t.owner) out += " that thread " + std::to_string(t.owner) + " holds";
  if (t.gil) out += ", holds the GIL";
  return out;
}

// What two threads must share to be shown as one.
std::string key_of(const ThreadStack& t) {
  std::string key = state_of(t) + "\n" + t.incomplete + "\n" + t.in_call + (t.main ? "\nmain" : "");
  for (const ThreadFrame& f : t.frames) key += "\n" + function_of(f) + "\t" + place_of(f);
  return key;
}

std::string title_of(const std::vector<const ThreadStack*>& group) {
  const ThreadStack& t = *group[0];
  std::string out;
  if (group.size() == 1) {
    out = "Thread " + std::to_string(t.tid) + (t.main ? " (main)" : "");
  } else {
    constexpr size_t kMaxNamed = 8;
    out = std::to_string(group.size()) + " threads:";
    for (size_t i = 0; i < group.size() && i < kMaxNamed; i++) out += " " + std::to_string(group[i]->tid);
    if (group.size() > kMaxNamed) out += " ...";
  }
  bool same = std::all_of(group.begin(), group.end(), [&](const ThreadStack* g) { return g->name == t.name; });
  if (same && !t.name.empty()) out += " \"" + printable(t.name) + "\"";
  return out + "  " + state_of(t);
}

// A frame as it is shown: of a recursion, equal frames in a row are one.
struct Shown {
  bool python;
  std::string function, place;
  size_t times;
};

std::vector<Shown> shown_frames(const ThreadStack& t) {
  std::vector<Shown> out;
  for (const ThreadFrame& f : t.frames) {
    Shown next{f.python, function_of(f), place_of(f), 1};
    if (!out.empty() && out.back().function == next.function && out.back().place == next.place)
      out.back().times++;
    else
      out.push_back(std::move(next));
  }
  return out;
}

// The innermost and outermost frames, if there are more than `depth`; 0: all.
std::string frames_text(const ThreadStack& t, size_t depth, const TextStyle& style) {
  std::vector<Shown> frames = shown_frames(t);
  size_t count = frames.size(), outer = depth && count > depth ? depth / 4 : 0, inner = outer ? depth - outer : count;
  size_t width = style.width > 0 ? size_t(style.width) : 0, column = 0;
  for (size_t i = 0; i < count; i++)
    if (i < inner || i >= count - outer) column = std::max(column, width_of(frames[i].function));
  if (width) column = std::min(column, std::max<size_t>(20, width * 2 / 5));
  std::string out;
  for (size_t i = 0; i < count; i++) {
    if (i == inner && outer) {
      out += "      ... " + std::to_string(count - inner - outer) + " more frames; --depth 0 shows all\n";
      i = count - outer;
    }
    const Shown& f = frames[i];
    std::string line = (f.python ? "   py " : "      ") + cut(f.function, column, style.utf8, Unit::function);
    std::string times = f.times > 1 ? "  x " + std::to_string(f.times) : "";
    if (!f.place.empty()) {
      size_t taken = column + 8 + times.size(), room = width > taken ? width - taken : 0;
      line += std::string(column + 8 - width_of(line), ' ');
      line += width ? cut(f.place, std::max<size_t>(room, 16), style.utf8, Unit::function) : f.place;
    }
    out += line + times + "\n";
  }
  if (!t.in_call.empty()) out += "      (in " + t.in_call + "; not stopped)\n";
  if (!t.incomplete.empty()) out += "      (incomplete: " + t.incomplete + ")\n";
  return out;
}

}  // namespace

std::string text_of(const ProgramStacks& p, size_t depth, const TextStyle& style) {
  std::string out = "Process " + std::to_string(p.pid) + ": " + printable(p.command) + "\n";
  size_t threads = p.threads.size(), runs = 0;
  for (const ThreadStack& t : p.threads) runs += t.runs;
  out += "  " + std::to_string(threads) + plural(threads, " thread", " threads");
  if (p.signal)
    out += ", ended by signal " + std::to_string(p.signal) + " (" + strsignal(p.signal) + ")";
  else if (p.stopped)
    out += ", stopped by a signal";
  else if (!p.stops_ns.empty() || runs)
    out += ", " + std::to_string(runs) + " running";
  if (!p.python.empty()) out += ", Python " + p.python;
  if (!p.stops_ns.empty()) {
    u64 longest = *std::max_element(p.stops_ns.begin(), p.stops_ns.end());
    out += "; " + std::to_string(p.stops_ns.size()) + plural(p.stops_ns.size(), " was", " were") +
           " stopped, for at most " + time_text(i64(longest));
  }
  out += "\n";
  if (!p.why_not.empty()) out += "  no Python frames: " + p.why_not + "\n";
  for (const std::vector<int>& cycle : p.cycles) {
    out += "  DEADLOCK:";
    for (int tid : cycle) out += " thread " + std::to_string(tid) + " waits for";
    out += " thread " + std::to_string(cycle[0]) + "\n";
  }
  std::vector<std::vector<const ThreadStack*>> groups;
  std::map<std::string, size_t> known;
  for (const ThreadStack& t : p.threads) {
    auto [at, added] = known.try_emplace(key_of(t), groups.size());
    if (added) groups.emplace_back();
    groups[at->second].push_back(&t);
  }
  for (const auto& group : groups) out += "\n" + title_of(group) + "\n" + frames_text(*group[0], depth, style);
  return out;
}

std::string text_of(const ThreadStack& thread, size_t depth, const TextStyle& style) {
  return title_of({&thread}) + "\n" + frames_text(thread, depth, style);
}

Json json_of(const ThreadStack& t) {
  Json out = {{"tid", t.tid}, {"name", t.name}, {"main", t.main}, {"runs", t.runs}, {"holds_gil", t.gil}};
  if (t.died) out["got_signal"] = true;
  if (!t.waits.empty()) out["waits"] = t.waits;
  if (t.owner) out["mutex_held_by"] = t.owner;
  if (!t.in_call.empty()) out["not_stopped_in"] = t.in_call;
  if (!t.incomplete.empty()) out["incomplete"] = t.incomplete;
  out["frames"] = Json::array();
  for (const ThreadFrame& f : t.frames) {
    Json frame = {{"kind", f.python ? "python" : "native"}, {"function", f.function}, {"file", f.file}};
    if (f.line) frame["line"] = f.line;
    if (!f.python) frame["offset"] = f.offset;
    out["frames"].push_back(std::move(frame));
  }
  return out;
}

Json json_of(const ProgramStacks& p) {
  Json out = {{"pid", p.pid}, {"command", p.command}};
  if (!p.python.empty()) out["python"] = p.python;
  if (!p.why_not.empty()) out["no_python_frames"] = p.why_not;
  if (p.signal) out["signal"] = p.signal;
  if (p.stopped) out["stopped"] = true;
  out["deadlocks"] = p.cycles;
  out["threads"] = Json::array();
  for (const ThreadStack& t : p.threads) out["threads"].push_back(json_of(t));
  out["stopped_us"] = Json::array();
  for (u64 ns : p.stops_ns) out["stopped_us"].push_back(double(ns) / 1e3);
  return out;
}

}  // namespace tprof
