#include "model/python.h"

#include <algorithm>

#include "model/passes.h"

namespace tprof {

PythonLoader::PythonLoader(const Meta& meta, Model& model, const NameTable& names)
    : meta_(meta), model_(model), names_(names) {
  for (const auto& [id, record] : meta.modules) {
    modules_[id] = u32(model.modules.size());
    model.modules.push_back({names(record.class_name), record.number, record.parameters, record.parameter_bytes});
  }
  module_names_.assign(model.modules.size(), kLostName);
}

u32 PythonLoader::add_name(std::string name) {
  model_.names.push_back(std::move(name));
  return u32(model_.names.size()) - 1;
}

// As torch does, shows only the name of the function itself, without its class and the functions around it.
u32 PythonLoader::code_name(u32 id) {
  auto [it, added] = code_names_.emplace(id, kLostName);
  auto code = meta_.codes.find(id);
  if (!added || code == meta_.codes.end()) return it->second;
  const std::string &file = model_.names[names_(code->second.file)], &name = model_.names[names_(code->second.name)];
  return it->second =
             add_name(file + "(" + std::to_string(code->second.first_line) + "): " + name.substr(name.rfind('.') + 1));
}

u32 PythonLoader::module_name(u32 index) {
  u32& name = module_names_[index];
  const ModuleInfo& module = model_.modules[index];
  if (name == kLostName)
    name = add_name("nn.Module: " + model_.names[module.class_name] + "_" + std::to_string(module.number));
  return name;
}

Event PythonLoader::event_of(const PythonCallRecord& r) {
  PythonDetail detail{0, 0, kNone, 0};
  if (auto module = modules_.find(r.module); module != modules_.end()) detail.module = module->second;
  Event e;
  e.name = detail.module != kNone     ? module_name(detail.module)
           : r.flags & kPythonBuiltin ? names_(r.head.id)
                                      : code_name(r.head.id);
  e.scope = u8(Scope::user);
  e.flags = kEventPython;
  e.python = model_.arena.copy(detail);
  return e;
}

namespace {
// The arena is const to its users, but each event has a detail of its own, which the passes here complete.
PythonDetail& detail_of(Event& e) { return const_cast<PythonDetail&>(*e.python); }
}  // namespace

std::vector<u32> number_python_calls(Model& model) {
  std::vector<Event*> order;
  for (Event& e : model.events)
    if (is_python(e)) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](const Event* a, const Event* b) {
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->dur_ns > b->dur_ns;
  });
  std::vector<std::vector<const Event*>> open(model.threads.size());
  std::vector<u32> parents(1);
  for (Event* e : order) {
    std::vector<const Event*>& stack = open[e->thread];
    while (!stack.empty() && stack.back()->end_ns() <= e->begin_ns) stack.pop_back();
    PythonDetail& detail = detail_of(*e);
    detail.id = u32(parents.size());
    for (auto around = stack.rbegin(); around != stack.rend() && !detail.parent; ++around)
      if ((*around)->end_ns() >= e->end_ns()) detail.parent = python_detail(**around).id;
    parents.push_back(detail.parent);
    stack.push_back(e);
  }
  return parents;
}

void mend_python_parents(Model& model, const std::vector<u32>& parents) {
  std::vector<bool> kept(parents.size());
  kept[0] = true;
  for (const Event& e : model.events)
    if (is_python(e)) kept[python_detail(e).id] = true;
  for (Event& e : model.events)
    if (is_python(e))
      while (!kept[detail_of(e).parent]) detail_of(e).parent = parents[detail_of(e).parent];
}

}  // namespace tprof
