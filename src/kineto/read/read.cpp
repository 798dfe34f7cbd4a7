#include "kineto/read/read.h"

#include <ctype.h>
#include <string.h>

#include <algorithm>

#include "base/error.h"
#include "kineto/ledger.h"
#include "kineto/names.h"
#include "kineto/read/pieces.h"
#include "kineto/read/state.h"

namespace tprof::kineto {
namespace {

enum class Row { none, op, label, python, runtime, driver, kernel, copy, set, sync, gpu_event, overhead, loader, span };

struct Category {
  std::string_view word;
  Row row;
  PluginType type;
};
constexpr Category kCategories[] = {
#define CATEGORY(word, row, type) {word, Row::row, PluginType::type},
#include "kineto/categories.def"
#undef CATEGORY
};
constexpr Category kUnknown{"", Row::none, PluginType::ignored};

const Category& category_of(std::string_view word) {
  for (const Category& category : kCategories)
    if (category.word.size() == word.size() &&
        std::equal(word.begin(), word.end(), category.word.begin(),
                   [](unsigned char a, unsigned char b) { return tolower(a) == b; }))
      return category;
  return kUnknown;
}

// torch.autograd's own profiler, which writes the traces of builds without libkineto, separates events by process; what
// it has timed on the GPU are whole operators, not kernels.
std::string_view legacy_category(std::string_view process) {
  if (process == "CPU functions") return kCpuOp;
  return process == "CUDA functions" ? process : std::string_view();
}

EventFields fields_of(const Value& event) {
  static const Value kNothing{};
  EventFields f{{}, {}, &kNothing, &kNothing, &kNothing, &kNothing, &kNothing, &kNothing};
  for (auto [word, value] : event.members()) {
    if (word == "ph")
      f.phase = text_of(value);
    else if (word == "name")
      f.name = text_of(value);
    else if (word == "ts")
      f.ts = &value;
    else if (word == "dur")
      f.dur = &value;
    else if (word == "pid")
      f.pid = &value;
    else if (word == "tid")
      f.tid = &value;
    else if (word == "id")
      f.id = &value;
    else if (word == "args" && value.is_object())
      f.args = &value;
  }
  return f;
}

class TraceReader {
 public:
  TraceReader(const std::string& path, Model& model, PluginTrace* plugin) : path_(path), model_(model), state_(model) {
    state_.plugin = plugin;
  }

  void read() {
    ParsedPieces pieces(path_, Strictness::lenient);
    for (ParsedPiece piece; pieces.next(piece);) read_piece(piece);
    const TraceScanner& scanner = pieces.scanner();
    if (scanner.end() != ScanEnd::whole) throw Error(Fault::unreadable, path_ + ": " + scanner.why());
    if (!scanner.saw_events())
      throw Error(Fault::unreadable, path_ + ": holds no traceEvents: not a trace of a profiler");
    if (scanner.is_list() && !phase_seen_)
      throw Error(Fault::unreadable, path_ + ": its list holds no events: not a trace of a profiler");
    if (scanner.unclosed()) repaired("list_not_closed")++;
    if (state_.plugin) state_.plugin->is_list = scanner.is_list();
    if (state_.plugin && state_.plugin->lightning) see_lightning(*state_.plugin);
    finish();
  }

 private:
  void read_piece(const ParsedPiece& piece);
  void read_member(const std::string& key, const Value& value, std::string_view text);
  void read_event(const Value& event);
  bool read_times(EventFields& f, bool with_duration);
  void read_range(EventFields& f, const Category& category);
  void read_instant(EventFields& f);
  void read_flow(EventFields& f, bool plugin_sees);
  void read_metadata(const EventFields& f);
  void add_plugin_event(const EventFields& f, PluginType type, size_t item);
  void see_lightning(PluginTrace& plugin) const;
  void take_from_ledger();
  void finish();
  u64& dropped(const char* why) { return model_.ledger.dropped[why]; }
  u64& repaired(const char* why) { return model_.ledger.repaired[why]; }

  const std::string& path_;
  Model& model_;
  ReadState state_;
  SampleReader samples_;
  bool span_seen_ = false, phase_seen_ = false;
};

void TraceReader::read_piece(const ParsedPiece& piece) {
  if (!piece.value && !piece.event)
    throw Error(Fault::unreadable, path_ + ": \"" + std::string(piece.key) + "\" at byte " +
                                       std::to_string(piece.offset) + " is not JSON: " + piece.error.why);
  if (!piece.value) dropped("bad_json")++;
  if (piece.repaired) repaired("bad_json")++;
  if (piece.value && piece.event) read_event(*piece.value);
  if (piece.value && !piece.event) read_member(std::string(piece.key), *piece.value, piece.text);
}

void TraceReader::read_member(const std::string& key, const Value& value, std::string_view text) {
  if (key == kDeviceProperties && value.is_list()) {
    for (const Value& device : value.elements()) {
      DeviceRecord record = device_of(device);
      if (!member(device, "id").is_i32()) record.head.id = u32(model_.devices.size());
      model_.devices[record.head.id] = record;
      if (!state_.plugin) continue;
      PluginDevice seen;
      seen.memory_bytes = integer_of(member(device, "totalGlobalMem"));
      seen.major = integer_of(member(device, "computeMajor"));
      seen.minor = integer_of(member(device, "computeMinor"));
      if (const Value& name = member(device, "name"); name.is_text()) seen.name = text_of(name);
      state_.plugin->devices.push_back(seen);
    }
  } else if (key == kDistributedInfo) {
    model_.info["distributed"] = text;
    auto count = [&](const char* name) {
      std::optional<i64> found = integer_of(member(value, name));
      return found && *found >= 0 && *found <= INT32_MAX ? i32(*found) : -1;
    };
    model_.rank = count("rank");
    model_.world_size = count("world_size");
    model_.local_rank = count("local_rank");
    model_.recorded_ranks = text_of(member(value, "recorded_ranks"));
    if (model_.host.empty()) model_.host = text_of(member(value, "node"));
  } else if (key == kHostName) {
    model_.host = text_of(value);
  } else if (key == kBaseTime) {
    if (std::optional<i64> base = integer_of(value); base && *base > 0) model_.base_time_ns = u64(*base);
  } else if (key == kStackFrames) {
    samples_.read_frames(value);
  } else if (key == kSamples) {
    samples_.read_samples(value);
  } else if (key == kMerge) {
    throw Error(Fault::unreadable, path_ +
                                       ": is a timeline for viewers, written by tprof merge; the traces that it was "
                                       "made of can be analysed");
  } else if (key == "Framework") {
    model_.info["framework"] = text_of(value);
    if (state_.plugin) state_.plugin->lightning = text_of(value) == "pytorch-lightning";
  } else if (key == kLedger && value.is_object()) {
    model_.info["ledger"] = text;
    model_.own_ns = u64(integer_of(member(member(value, "own_cost"), "process_ns")).value_or(0));
  } else if (value.is_i32() && (key == "with_stack" || key == "profile_memory" || key == "record_shapes" ||
                                key == "with_modules" || key == "with_flops")) {
    model_.info["option." + key] = std::to_string(value.as_i64());
  } else if (value.is_text() || value.is_number()) {
    model_.info["trace." + key] = value.is_text() ? std::string(text_of(value)) : std::string(text);
  }
}

void TraceReader::read_event(const Value& event) {
  if (!event.is_object()) {
    dropped("not_an_object")++;
    return;
  }
  EventFields f = fields_of(event);
  phase_seen_ |= !f.phase.empty();
  std::string_view word = text_of(member(event, "cat"));
  if (word.empty()) word = legacy_category(text_of(*f.pid));
  if (f.phase == "X") {
    const Category& category = category_of(word);
    if (category.row == Row::none) model_.ledger.left_out[std::string(word.empty() ? "(no category)" : word)]++;
    if (category.row != Row::none || category.type != PluginType::ignored) read_range(f, category);
  } else if (word == kForwardBackward || word == kLegacyForwardBackward) {
    read_flow(f, word == kForwardBackward);
  } else if (f.phase == "i" || f.phase == "I") {
    read_instant(f);
  } else if (f.phase == "M") {
    read_metadata(f);
  } else if (f.phase != "s" && f.phase != "f" && f.phase != "t" && f.phase != "C") {
    model_.ledger.left_out["phase " + std::string(f.phase.substr(0, 8))]++;
  }  // arrows from calls to GPU activities repeat the correlation; counters are derived
}

bool TraceReader::read_times(EventFields& f, bool with_duration) {
  std::optional<i64> begin = ns_of(*f.ts), length = with_duration ? ns_of(*f.dur) : 0;
  if (!begin || !length || *begin > INT64_MAX / 2 || *length > INT64_MAX / 2) {
    dropped(!begin ? "no_time" : "no_duration")++;
    return false;
  }
  if (f.ts->is_text() || f.dur->is_text()) repaired("quoted_number")++;
  if (*length < 0) {
    repaired("negative_duration")++;
    length = 0;
  }
  f.begin_ns = *begin;
  f.dur_ns = *length;
  return true;
}

void TraceReader::read_range(EventFields& f, const Category& category) {
  if (f.name.data() == nullptr) repaired("no_name")++;
  if (!read_times(f, true)) return;
  std::optional<i64> id = integer_of(f.arg(kLegacyExternalId));
  if (!id) id = integer_of(f.arg(kExternalId));
  f.external_id = id.value_or(kNoId);
  f.correlation = integer_of(f.arg(kCorrelation)).value_or(kNoId);
  size_t item = kNone;
  auto host = [&](HostKind kind) {
    item = kind >= HostKind::runtime ? model_.calls.size() : model_.events.size();
    add_host_event(state_, kind, f);
  };
  auto gpu = [&](Kind kind) {
    item = model_.gpu.size();
    add_gpu_event(state_, kind, f);
  };
  switch (category.row) {
    case Row::op: host(HostKind::op); break;
    case Row::label: host(HostKind::label); break;
    case Row::python: host(HostKind::python); break;
    case Row::runtime: host(HostKind::runtime); break;
    case Row::driver: host(HostKind::driver); break;
    case Row::kernel: gpu(Kind::kernel); break;
    case Row::copy: gpu(Kind::copy); break;
    case Row::set: gpu(Kind::set); break;
    case Row::sync: gpu(Kind::sync); break;
    case Row::gpu_event: gpu(Kind::gpu_event); break;
    case Row::overhead: gpu(Kind::overhead); break;
    case Row::loader:
      if (!add_loader_event(state_, f)) model_.ledger.left_out[kLoaderWorker]++;
      break;
    case Row::span:
      if (f.name.starts_with(kProfiler) && !span_seen_) {
        span_seen_ = true;
        model_.begin_ns = f.begin_ns;
        model_.end_ns = f.begin_ns + f.dur_ns;
      }
      break;
    case Row::none: break;
  }
  add_plugin_event(f, category.type, item);
}

void TraceReader::add_plugin_event(const EventFields& f, PluginType type, size_t item) {
  if (!state_.plugin || type == PluginType::ignored) return;
  PluginEvent e;
  e.ts_us = number_of(*f.ts).value_or(0);
  e.dur_us = f.dur->is_null() ? 0 : number_of(*f.dur).value_or(0);
  e.external_id = f.external_id;
  e.correlation = f.correlation;
  e.pid = state_.rows.number(*f.pid);
  e.tid = state_.rows.number(*f.tid);
  e.tid_is_text = f.tid->is_text();
  e.name = state_.names(f.name);
  e.item = u32(item);
  e.type = type;
  bool may_be_step = type == PluginType::op || type == PluginType::label;
  if (may_be_step && f.name.starts_with(kStepPrefix)) e.type = PluginType::step;
  if (type == PluginType::kernel) e.device = u32_of(f.arg("device"), kNone);
  if (type == PluginType::python_function && !f.arg(kPythonModuleId).is_null()) e.type = PluginType::module;
  state_.plugin->events.push_back(e);
}

// In traces of PyTorch Lightning the plugin uses the ranges of Lightning itself, and no Python calls.
void TraceReader::see_lightning(PluginTrace& plugin) const {
  std::erase_if(plugin.events, [](const PluginEvent& e) {
    return e.type == PluginType::python_function || e.type == PluginType::module;
  });
  for (PluginEvent& e : plugin.events) {
    if (e.type != PluginType::op) continue;
    if (model_.names[e.name].starts_with(kLightningProfile)) e.type = PluginType::lightning_profile;
    if (model_.names[e.name].starts_with(kLightningModule)) e.type = PluginType::lightning_module;
  }
}

void TraceReader::read_instant(EventFields& f) {
  if (f.name.starts_with("Iteration Start:") || f.name == kWindowEnd) return;
  if (!read_times(f, false)) return;
  size_t item = model_.memory.size();
  add_instant(state_, f);
  if (f.name == kMemory && model_.memory.size() > item) add_plugin_event(f, PluginType::memory, item);
}

void TraceReader::read_flow(EventFields& f, bool plugin_sees) {
  std::optional<i64> id = integer_of(*f.id);
  if (!id || !read_times(f, false)) {
    dropped("bad_arrow")++;
    return;
  }
  bool start = f.phase == "s";
  if (!start && f.phase != "f") return;
  u32 thread = state_.rows.thread(state_.rows.number(*f.pid), state_.rows.number(*f.tid));
  state_.flows.push_back({*id, f.begin_ns, thread, start});
  if (state_.plugin && plugin_sees) state_.plugin->arrows.push_back({*id, number_of(*f.ts).value_or(0), start});
}

void TraceReader::read_metadata(const EventFields& f) {
  if (f.name == "process_name")
    state_.rows.name_process(state_.rows.number(*f.pid), text_of(f.arg("name")));
  else if (f.name == "thread_name")
    state_.rows.name_thread(state_.rows.number(*f.pid), state_.rows.number(*f.tid), text_of(f.arg("name")));
}

// Sets what events do not state; the ledger comes after all of them.
void TraceReader::take_from_ledger() {
  auto text = model_.info.find("ledger");
  if (text == model_.info.end()) return;
  Json ledger = bounded_json(text->second);
  put_machine_figures(read_machine(ledger), model_.info);
  if (std::string boot = read_boot(ledger); !boot.empty()) model_.info[kBootId] = boot;
  model_.sampled = read_sampled(ledger);
  model_.trigger = read_trigger(ledger);
  Death death = read_death(ledger);
  model_.process_ended_inside = death.inside;
  model_.killed_by = death.signal;
  Counted counted = read_counted(ledger);
  model_.before_training = counted.before_training;
  for (Step& step : model_.steps) {
    step.guessed = counted.guessed;
    if (counted.steps) step.by = counted.by;
    for (const Stretch& s : model_.stretches)
      step.evaluates |= s.inside && s.begin_ns >= step.begin_ns && s.begin_ns < step.end_ns;
  }
}

void TraceReader::finish() {
  samples_.finish(state_);
  state_.rows.name_all();
  link_all(state_);
  sort_loader_events(model_);
  take_from_ledger();
  if (!span_seen_) {
    i64 begin = INT64_MAX, end = INT64_MIN;
    auto hold = [&](const auto& all) {
      for (const auto& e : all) begin = std::min(begin, e.begin_ns), end = std::max(end, e.end_ns());
    };
    hold(model_.events);
    hold(model_.calls);
    hold(model_.gpu);
    if (begin <= end) model_.begin_ns = begin, model_.end_ns = end;
  }
  model_.kind = "trace";
  model_.identity = path_;
}

}  // namespace

Model read_trace(const std::string& path, PluginTrace* plugin) {
  Model model;
  TraceReader(path, model, plugin).read();
  return model;
}

}  // namespace tprof::kineto
