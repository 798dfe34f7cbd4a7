// Events of the threads of the process: operators, labels, Python calls, calls into CUDA and allocations.
#include <charconv>

#include "base/reals.h"
#include "kineto/names.h"
#include "kineto/read/state.h"
#include "model/communication.h"
#include "model/gpu/names.h"

namespace tprof::kineto {
namespace {

constexpr char kModulePrefix[] = "nn.Module: ";

// Labels that had the category of operators before 2022, with names that no user picks by chance.
bool is_label_by_name(std::string_view name) {
  for (const char* prefix : {"enumerate(DataLoader)#", "enumerate(DataPipe)#", kOptimizerPrefix, "DataParallel.forward",
                             "DistributedDataParallel.forward"})
    if (name.starts_with(prefix)) return true;
  return is_old_backend_label(name);
}

// The number after a prefix; -1 if the name has another form.
i64 number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return -1;
  i64 number;
  std::string_view digits = name.substr(prefix.size());
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool whole = !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  return whole && number >= 0 ? number : -1;
}

u8 scope_of(HostKind kind, const EventFields& f, const Event& e) {
  if (kind == HostKind::label || is_label_by_name(f.name)) return u8(Scope::user);
  bool node = e.forward_thread && !f.name.starts_with(kEvaluatePrefix);
  return u8(node ? Scope::backward : Scope::function);
}

// Reads the details of an NVTX range as nvtx_arguments() has them; false if there are none.
bool read_nvtx(ReadState& state, const EventFields& f, NvtxDetail& d) {
  const Value &domain = f.arg("domain"), &category = f.arg("category"), &payload = f.arg("payload");
  std::string_view color = text_of(f.arg("color"));
  if (domain.is_text()) d.domain = state.names(text_of(domain));
  d.category_is_number = category.is_u32();
  if (category.is_text()) d.category = state.names(text_of(category));
  if (category.is_u32()) d.category = u32(category.as_u64());
  if (color.starts_with('#')) std::from_chars(color.data() + 1, color.data() + color.size(), d.color, 16);
  if (payload.is_u64()) {
    d.payload_type = NvtxPayload::unsigned_integer;
    d.payload = payload.as_u64();
  } else if (payload.is_i64()) {
    d.payload_type = NvtxPayload::integer;
    d.payload = u64(payload.as_i64());
  } else if (std::optional<double> number = number_of(payload)) {
    d.payload_type = NvtxPayload::floating;
    d.payload = same_bits<u64>(*number);
  }
  return domain.is_text() || !category.is_null() || !color.empty() || !payload.is_null();
}

// The module of a call, "nn.Module: Linear_3".
u32 module_of(ReadState& state, u32 event_name, const EventFields& f, i64 id) {
  auto [it, added] = state.modules.emplace(std::pair(event_name, id), u32(state.model.modules.size()));
  if (!added) return it->second;
  std::string_view name = f.name;
  if (name.starts_with(kModulePrefix)) name.remove_prefix(sizeof kModulePrefix - 1);
  ModuleInfo module;
  size_t cut = name.rfind('_');
  bool numbered =
      cut != name.npos && cut + 1 < name.size() &&
      std::from_chars(name.data() + cut + 1, name.data() + name.size(), module.number).ptr == name.data() + name.size();
  module.class_name = state.names(numbered ? name.substr(0, cut) : name);
  module.parameters = u64(integer_of(f.arg(kParameters)).value_or(i64(ModuleRecord::kUnknown)));
  module.parameter_bytes = u64(integer_of(f.arg(kParameterBytes)).value_or(0));
  state.model.modules.push_back(module);
  return it->second;
}

void add_python_detail(ReadState& state, const EventFields& f, Event& e) {
  PythonDetail detail{};
  detail.id = u32_of(f.arg(kPythonId), 0);
  detail.parent = u32_of(f.arg(kPythonParentId), 0);
  std::optional<i64> module = integer_of(f.arg(kPythonModuleId));
  detail.module = module ? module_of(state, e.name, f, *module) : kNone;
  e.python = state.model.arena.copy(detail);
  e.flags |= kEventPython;
}

// True if the label is a stretch that tprof wrote; a label of the program may have the same name.
bool add_stretch(Model& model, const EventFields& f, const Event& e) {
  std::string_view where = text_of(f.arg(kStretch));
  if (where != kStretchBetween && where != kStretchInside) return false;
  for (u32 number_of_kind = 1; number_of_kind <= kStretchKinds; number_of_kind++) {
    auto kind = StretchKind(number_of_kind);
    i64 number = number_after(prefix_of(kind), f.name);
    if (number < 0) continue;
    Stretch s{kind,
              number,
              e.begin_ns,
              e.end_ns(),
              u32_of(f.arg(kBatches), 0),
              u32_of(f.arg(kCalls), 0),
              u32_of(f.arg(kLeftOut), 0)};
    s.inside = where == kStretchInside;
    s.continued = !f.arg(kContinued).is_null();
    model.stretches.push_back(s);
    return true;
  }
  return false;
}

void add_range(ReadState& state, HostKind kind, const EventFields& f) {
  Model& model = state.model;
  Event e;
  e.begin_ns = f.begin_ns;
  e.dur_ns = f.dur_ns;
  e.name = state.names(f.name);
  e.thread = state.rows.thread(state.rows.number(*f.pid), state.rows.number(*f.tid));
  i64 step = kind == HostKind::python ? -1 : number_after(kStepPrefix, f.name);
  if (kind == HostKind::label && add_stretch(model, f, e)) {
    e.flags = kEventStep | kEventStretch;
    e.scope = u8(Scope::user);
    e.step_index = u32(model.stretches.size()) - 1;
  } else if (step >= 0) {
    e.flags = kEventStep;
    e.scope = u8(Scope::user);
    e.step_index = u32(model.steps.size());
    model.steps.push_back(
        {step, StepBy::profiler_step, e.begin_ns, e.end_ns(), 0, false, false, step_cut_of(text_of(f.arg(kCut)))});
  } else if (kind == HostKind::python) {
    add_python_detail(state, f, e);
  } else {
    if (f.name.starts_with(kStepPrefix)) model.ledger.repaired["step_without_number"]++;
    e.sequence = integer_of(f.arg(kSequenceNumber)).value_or(-1);
    e.forward_thread = u32_of(f.arg(kForwardThread), 0);
    e.scope = scope_of(kind, f, e);
    NvtxDetail nvtx;
    if (kind == HostKind::label && read_nvtx(state, f, nvtx)) {
      e.flags |= kEventNvtx;
      e.nvtx = model.arena.copy(nvtx);
    } else {
      const Value& dims = f.arg(kInputDims);
      state.inputs.read(e, dims.is_null() ? f.arg(kLegacyInputDims) : dims, f.arg(kInputType), f.arg(kInputStrides),
                        f.arg(kConcreteInputs));
    }
    e.stack = state.stacks(text_of(f.arg(kCallStack)));
  }
  std::string_view mark = text_of(f.arg(kOurMark));
  if (mark == kClippedMark) e.flags |= kEventClipped;
  if (mark == kUnfinishedMark) e.flags |= kEventUnfinished;
  if (f.arg(kCollectiveName).is_text()) {
    state.stated.push_back(collective_of(state, f));
    state.stated.back().op = u32(model.events.size());
    state.stated.back().gpu = u32_of(f.arg(kKernelCorrelation), 0);
  }
  model.events.push_back(e);
  state.event_ids.push_back(f.external_id);
}

void add_call(ReadState& state, HostKind kind, const EventFields& f) {
  CallEvent c;
  c.begin_ns = c.at_ns = f.begin_ns;
  c.dur_ns = f.dur_ns;
  c.name = state.names(f.name);
  c.thread = state.rows.thread(state.rows.number(*f.pid), state.rows.number(*f.tid));
  c.correlation = u32_of(f.arg(kCorrelation), 0);
  c.cbid = u32_of(f.arg("cbid"), 0);
  c.bytes = u64(integer_of(f.arg(f.arg(kCallSize).is_null() ? "bytes" : kCallSize)).value_or(0));
  c.result = i32(u32_of(f.arg("result"), 0));
  c.seen = kSeenByCupti;
  c.family = u8(call_family(f.name));
  c.stack = state.stacks(text_of(f.arg(kCallStack)));
  // Launches through the driver may have the category of the runtime, for readers that know no other.
  bool driver_name = f.name.size() > 2 && f.name.starts_with("cu") && f.name[2] >= 'A' && f.name[2] <= 'Z';
  if (kind == HostKind::driver || driver_name) c.call_flags |= kCallDriver;
  c.unfinished = !f.arg(kOurMark).is_null();
  state.model.calls.push_back(c);
  state.call_ids.push_back(f.external_id);
  state.call_correlations.push_back(f.correlation);
}

void add_memory(ReadState& state, const EventFields& f, bool failed) {
  MemoryEvent m;
  m.ns = f.begin_ns;
  m.thread = state.rows.thread(state.rows.number(*f.pid), state.rows.number(*f.tid));
  m.bytes = integer_of(f.arg("Bytes")).value_or(0);
  if (!failed) m.address = u64(integer_of(f.arg("Addr")).value_or(0));
  std::optional<i64> allocated = integer_of(f.arg("Total Allocated")), reserved = integer_of(f.arg("Total Reserved"));
  m.total_allocated = u64(allocated.value_or(0));
  m.total_reserved = u64(reserved.value_or(0));
  m.device_type = u8(u32_of(f.arg("Device Type"), 0));
  m.device_index = i8(integer_of(f.arg("Device Id")).value_or(-1));
  if (failed) m.flags |= kMemoryOutOfMemory;
  if (!allocated) m.flags |= kMemoryNoTotals;
  if (f.arg(kOurMark).is_text()) m.flags |= kMemoryShared;
  m.stack = state.stacks(text_of(f.arg(kCallStack)));
  state.model.add_memory(m);
}

}  // namespace

void add_host_event(ReadState& state, HostKind kind, const EventFields& f) {
  if (kind == HostKind::runtime || kind == HostKind::driver)
    add_call(state, kind, f);
  else
    add_range(state, kind, f);
}

void add_instant(ReadState& state, const EventFields& f) {
  if (f.name == kMemory || f.name == kOutOfMemory) return add_memory(state, f, f.name == kOutOfMemory);
  NvtxMark mark{f.begin_ns,
                state.names(f.name),
                state.rows.thread(state.rows.number(*f.pid), state.rows.number(*f.tid)),
                {}};
  read_nvtx(state, f, mark.detail);
  state.model.marks.push_back(mark);
}

}  // namespace tprof::kineto
