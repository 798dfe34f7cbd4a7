#include "analysis/time/python_samples.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace tprof {
namespace {

constexpr double kLeastOfSpot = 1.0 / 3;  // of a spot
constexpr u64 kFewSamples = 10;           // of which nothing is said

struct SampledFrame {
  std::string function, file;
  i64 line = -1;
};

// "file(line): function"
SampledFrame sampled_frame(const std::string& text) {
  SampledFrame out;
  size_t close = text.rfind("): "), open = close == text.npos ? close : text.rfind('(', close);
  if (open == text.npos) return {text, "", -1};
  out.file = text.substr(0, open);
  out.function = text.substr(close + 3);
  const char *first = text.data() + open + 1, *last = text.data() + close;
  if (std::from_chars(first, last, out.line).ptr != last || first == last) out.line = -1;
  return out;
}

bool is_library_file(const std::string& file) {
  for (const char* part : {"/lib/python3", "site-packages/", "dist-packages/", "/torch/", "<frozen"})
    if (file.find(part) != file.npos) return true;
  return file.empty() || file[0] == '<';
}

u32 sampled_thread(const Model& model) {
  std::map<u32, u64> samples;
  for (const StackSample& s : model.samples) samples[s.thread]++;
  if (samples.empty()) return kNone;
  u32 main = main_thread_of(model);
  if (samples.count(main)) return main;
  return std::max_element(samples.begin(), samples.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
}

// The category of a moment.
class CategoryAt {
 public:
  CategoryAt(const Model& model, const NameClasses& classes) : busy_(category_times(model, classes)) {}
  u32 operator()(i64 ns) const {
    for (u32 c = 0; c < busy_.size(); c++)
      if (busy_[c].length_in(ns, ns + 1) > 0) return c;
    return u32(Category::other);
  }

 private:
  std::array<IntervalSet, kCategories - 1> busy_;
};

// PlaceTable by a key, which is that of a function or of a line.
class PlaceTable {
 public:
  PythonPlace& at(const SampledFrame& frame, bool with_line, u32& index) {
    std::string key = frame.file + '\n' + frame.function + (with_line ? '\n' + std::to_string(frame.line) : "");
    auto [known, added] = index_.try_emplace(std::move(key), u32(places_.size()));
    if (added) places_.push_back({frame.function, frame.file, frame.line});
    index = known->second;
    return places_[index];
  }
  std::vector<PythonPlace> take() {
    std::stable_sort(places_.begin(), places_.end(), [](const PythonPlace& a, const PythonPlace& b) {
      return a.self != b.self ? a.self > b.self : a.total > b.total;
    });
    return std::move(places_);
  }

 private:
  std::map<std::string, u32> index_;
  std::vector<PythonPlace> places_;
};

}  // namespace

PythonSamples python_samples(const Model& model, const NameClasses& classes, const Windows& windows) {
  PythonSamples out;
  out.thread = sampled_thread(model);
  if (out.thread == kNone) return out;
  const Sampled& sampled = model.sampled;
  double due = double(sampled.looks + sampled.missed), looks = double(std::max<u64>(sampled.looks, 1));
  out.period_ns = sampled.hz ? 1e9 / sampled.hz * std::max(due, looks) / looks : 0;
  CategoryAt category(model, classes);
  std::map<u32, SampledThread> threads;
  std::map<u32, SampledFrame> frames;                 // by text
  std::map<u32, std::pair<u32, u32>> places_of_text;  // function and line
  std::map<u32, std::map<i64, std::pair<u64, u64>>>
      lines_of;  // by function: how often each line ran, and was on a stack
  PlaceTable functions, lines;
  std::vector<u32> seen_functions, seen_lines;
  for (const StackSample& s : model.samples) {
    bool on_cpu = s.flags & kSampleOnCpu, gil = s.flags & kSampleGil;
    SampledThread& thread = threads[s.thread];
    thread.thread = s.thread;
    thread.samples++;
    thread.on_cpu += on_cpu;
    thread.gil += gil;
    if (s.thread != out.thread) continue;
    if (!windows.holds(s.ns)) {
      out.outside++;
      continue;
    }
    u32 c = category(s.ns);
    out.samples++;
    out.by[c]++;
    seen_functions.clear();
    seen_lines.clear();
    for (u32 at = s.stack; at; at = model.stacks[at].parent) {
      u32 text = model.stacks[at].text;
      auto known = frames.find(text);
      if (known == frames.end()) known = frames.emplace(text, sampled_frame(model.names[text])).first;
      u32 function, line;
      PythonPlace* of_function = &functions.at(known->second, false, function);
      PythonPlace* of_line = &lines.at(known->second, true, line);
      auto count = [&](PythonPlace& place, std::vector<u32>& seen, u32 index) {
        if (at == s.stack) {
          place.self++;
          place.on_cpu += on_cpu;
          place.gil += gil;
          place.by[c]++;
        }
        if (std::find(seen.begin(), seen.end(), index) != seen.end()) return;
        seen.push_back(index);
        place.total++;
        place.total_by[c]++;
      };
      count(*of_function, seen_functions, function);
      count(*of_line, seen_lines, line);
      auto& [ran, called] = lines_of[function][known->second.line];
      ran += at == s.stack;
      called++;
      // The line that a function is shown with.
      auto& best = lines_of[function][of_function->line];
      if (std::pair(ran, called) > best) of_function->line = known->second.line;
    }
  }
  out.functions = functions.take();
  out.lines = lines.take();
  for (const auto& [index, thread] : threads) out.threads.push_back(thread);
  std::stable_sort(out.threads.begin(), out.threads.end(),
                   [](const SampledThread& a, const SampledThread& b) { return a.samples > b.samples; });
  return out;
}

std::optional<PythonSpot> python_spot(const Model& model, const IntervalSet& time) {
  u32 thread = sampled_thread(model);
  std::map<u32, u64> count;  // by frame: an index into Model::stacks
  u64 all = 0;
  for (const StackSample& s : model.samples) {
    if (s.thread != thread || time.length_in(s.ns, s.ns + 1) == 0) continue;
    all++;
    for (u32 at = s.stack; at; at = model.stacks[at].parent) count[at]++;
  }
  if (all < kFewSamples) return {};
  u32 best = 0;
  for (u64 most = all; most;) {  // from the outermost frame to the callee with most
    u32 next = 0;
    most = 0;
    for (const auto& [frame, n] : count)
      if (model.stacks[frame].parent == best && n > most) next = frame, most = n;
    if (double(most) < kLeastOfSpot * double(all)) break;
    best = next;
  }
  u32 shown = best;
  while (shown && is_library_file(sampled_frame(model.names[model.stacks[shown].text]).file))
    shown = model.stacks[shown].parent;
  if (!shown) shown = best;
  if (!shown) return {};
  SampledFrame frame = sampled_frame(model.names[model.stacks[shown].text]);
  return PythonSpot{frame.function, frame.file, frame.line, count[shown], all};
}

IntervalSet other_time(const Model& model, const NameClasses& classes, const Windows& windows) {
  IntervalSet rest = windows.time;
  for (const IntervalSet& busy : category_times(model, classes)) rest = rest - busy;
  return rest;
}

}  // namespace tprof
