#include "analysis/time/python_samples.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/basis/frame_text.h"
#include "model/open_operators.h"

namespace tprof {
namespace {

constexpr double kLeastOfSpot = 1.0 / 3;  // of a spot
constexpr u64 kFewSamples = 10;           // of which nothing is said

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

// Functions, or lines, and how many samples each has.
class Places {
 public:
  explicit Places(bool by_line) : by_line_(by_line) {}

  u32 index_of(const FramePlace& frame) {
    std::string key = frame.file + '\n' + frame.function + (by_line_ ? '\n' + std::to_string(frame.line) : "");
    auto [known, added] = index_.try_emplace(std::move(key), u32(places_.size()));
    if (added) {
      places_.push_back({frame.function, frame.file, frame.line});
      details_.emplace_back();
    }
    return known->second;
  }

  // What is on one stack: each place counts once.
  void begin_stack() { seen_.clear(); }
  void count(u32 index, u32 category) {
    if (std::find(seen_.begin(), seen_.end(), index) != seen_.end()) return;
    seen_.push_back(index);
    places_[index].total++;
    places_[index].total_by[category]++;
  }
  void count_self(u32 index, u32 category, const StackSample& s) {
    SampledPlace& place = places_[index];
    place.self++;
    place.on_cpu += (s.flags & kSampleOnCpu) != 0;
    place.gil += (s.flags & kSampleGil) != 0;
    place.by[category]++;
  }
  // The line with which a function is shown is the one that ran most often, else that was most often in a call.
  void count_line(u32 index, i64 line, bool self) {
    auto& [ran, called] = details_[index].lines[line];
    ran += self;
    called++;
    if (std::pair(ran, called) > details_[index].lines[places_[index].line]) places_[index].line = line;
  }
  void count_native(u32 index, const std::string& function) {
    u64 n = ++details_[index].natives[function];
    if (n > places_[index].native_samples) places_[index].native = function, places_[index].native_samples = n;
  }

  void count_operator(u32 index, u32 name) {
    u64 n = ++details_[index].operators[name];
    if (n > places_[index].op_samples) places_[index].op = name, places_[index].op_samples = n;
  }

  std::vector<SampledPlace> take() {
    std::stable_sort(places_.begin(), places_.end(), [](const SampledPlace& a, const SampledPlace& b) {
      return a.self != b.self ? a.self > b.self : a.total > b.total;
    });
    return std::move(places_);
  }

 private:
  struct Details {
    std::map<i64, std::pair<u64, u64>> lines;  // how often each ran, and was on a stack
    std::map<std::string, u64> natives;
    std::map<u32, u64> operators;
  };
  const bool by_line_;
  std::map<std::string, u32> index_;
  std::vector<SampledPlace> places_;
  std::vector<Details> details_;
  std::vector<u32> seen_;
};

class StackCounter {
 public:
  explicit StackCounter(const Model& model) : model_(model), open_(model) {}

  void count(const StackSample& s, u32 category) {
    for (Places* places : {&functions_, &lines_, &natives_}) places->begin_stack();
    u32 open = open_.at(s.thread, s.ns);
    bool python_seen = false;
    std::string inner;  // the innermost frame, if it is native
    for (u32 at = s.stack; at; at = model_.stacks[at].parent) {
      const Frame& f = frame(at);
      if (f.native) {
        if (at == s.stack) {
          natives_.count_self(f.function, category, s);
          if (open != kNone) natives_.count_operator(f.function, model_.events[open].name);
          inner = f.name;
        }
        natives_.count(f.function, category);
        continue;
      }
      bool self = !std::exchange(python_seen, true);
      functions_.count_line(f.function, f.line_number, self);
      functions_.count(f.function, category);
      lines_.count(f.line, category);
      if (!self) continue;
      functions_.count_self(f.function, category, s);
      lines_.count_self(f.line, category, s);
      if (open != kNone) {
        functions_.count_operator(f.function, model_.events[open].name);
        lines_.count_operator(f.line, model_.events[open].name);
      }
      if (inner.empty()) continue;
      functions_.count_native(f.function, inner);
      lines_.count_native(f.line, inner);
    }
  }

  void put(PythonSamples& out) {
    out.functions = functions_.take();
    out.lines = lines_.take();
    out.natives = natives_.take();
  }

 private:
  struct Frame {
    bool native;
    u32 function, line;  // indices
    i64 line_number;
    std::string name;
  };
  const Frame& frame(u32 at) {
    const StackFrame& stack = model_.stacks[at];
    auto known = frames_.find(stack.text);
    if (known != frames_.end()) return known->second;
    FramePlace f = place_of_frame(model_.names[stack.text], stack.native);
    Frame made{stack.native, 0, 0, f.line, f.function};
    made.function = (stack.native ? natives_ : functions_).index_of(f);
    if (!stack.native) made.line = lines_.index_of(f);
    return frames_.emplace(stack.text, std::move(made)).first->second;
  }

  const Model& model_;
  OpenOperators open_;
  std::map<u32, Frame> frames_;  // by text
  Places functions_{false}, lines_{true}, natives_{false};
};

}  // namespace

double sample_period_ns(const Sampled& sampled) {
  double due = double(sampled.looks + sampled.missed), looks = double(std::max<u64>(sampled.looks, 1));
  return sampled.hz ? 1e9 / sampled.hz * std::max(due, looks) / looks : 0;
}

PythonSamples python_samples(const Model& model, const NameClasses& classes, const Windows& windows) {
  PythonSamples out;
  out.thread = sampled_thread(model);
  if (out.thread == kNone) return out;
  out.period_ns = sample_period_ns(model.sampled);
  CategoryAt category(model, classes);
  StackCounter counter(model);
  std::map<u32, SampledThread> threads;
  for (const StackSample& s : model.samples) {
    SampledThread& thread = threads[s.thread];
    thread.thread = s.thread;
    thread.samples++;
    thread.on_cpu += (s.flags & kSampleOnCpu) != 0;
    thread.gil += (s.flags & kSampleGil) != 0;
    if (s.thread != out.thread) continue;
    if (!windows.holds(s.ns)) {
      out.outside++;
      continue;
    }
    u32 c = category(s.ns);
    out.samples++;
    out.by[c]++;
    counter.count(s, c);
  }
  counter.put(out);
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
  auto frame_at = [&](u32 at) { return place_of_frame(model.names[model.stacks[at].text], model.stacks[at].native); };
  auto climb = [&](auto leaves_out) {
    u32 at = best;
    while (at && (model.stacks[at].native || leaves_out(at))) at = model.stacks[at].parent;
    return at;
  };
  u32 shown = climb([&](u32 at) { return is_library_file(frame_at(at).file); });
  if (!shown) shown = climb([](u32) { return false; });
  if (!shown) shown = best;
  if (!shown) return {};
  FramePlace frame = frame_at(shown);
  return PythonSpot{frame.function, frame.file, frame.line, count[shown], all};
}

IntervalSet other_time(const Model& model, const NameClasses& classes, const Windows& windows) {
  IntervalSet rest = windows.time;
  for (const IntervalSet& busy : category_times(model, classes)) rest = rest - busy;
  return rest;
}

}  // namespace tprof
