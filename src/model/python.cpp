#include "model/python.h"

#include "model/passes.h"

namespace tprof {

PythonLoader::PythonLoader(const Meta& meta, Model& model, const NameTable& names)
    : meta_(meta), model_(model), names_(names) {
  for (const auto& [id, record] : meta.modules) {
    modules_[id] = static_cast<u32>(model.modules.size());
    model.modules.push_back({names(record.class_name), record.number, record.parameters, record.parameter_bytes});
  }
  module_names_.assign(model.modules.size(), kLostName);
}

u32 PythonLoader::add_name(std::string name) {
  model_.names.push_back(std::move(name));
  return static_cast<u32>(model_.names.size()) - 1;
}

// torch writes a function's own name, without those of its class and of the functions around it.
u32 PythonLoader::code_name(u32 id) {
  auto [it, added] = code_names_.emplace(id, kLostName);
  auto code = meta_.codes.find(id);
  if (!added || code == meta_.codes.end()) return it->second;
  const std::string &file = model_.names[names_(code->second.file)], &name = model_.names[names_(code->second.name)];
  return it->second = add_name(file + "(" + std::to_string(code->second.first_line) + "): " +
                               name.substr(name.rfind('.') + 1));
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
  e.name = detail.module != kNone      ? module_name(detail.module)
           : r.flags & kPythonBuiltin ? names_(r.head.id)
                                      : code_name(r.head.id);
  e.scope = static_cast<u8>(Scope::user);
  e.flags = kEventPython;
  e.inputs = model_.arena.copy(&detail, sizeof detail);
  return e;
}

// Ids from 1 in order of begin. A call's parent is the innermost call around it on its thread, wherever it is shown.
void number_python_calls(Model& model) {
  std::unordered_map<u32, std::vector<const Event*>> open;  // by OS thread
  u32 next = 1;
  for (Event& e : model.events) {
    if (!is_python(e)) continue;
    std::vector<const Event*>& stack = open[model.threads[e.thread].owner];
    while (!stack.empty() && stack.back()->end_ns() <= e.begin_ns) stack.pop_back();
    auto& detail = *reinterpret_cast<PythonDetail*>(const_cast<char*>(e.inputs));  // its own, in the arena
    detail.id = next++;
    for (auto around = stack.rbegin(); around != stack.rend() && !detail.parent; ++around)
      if ((*around)->end_ns() >= e.end_ns()) detail.parent = python_detail(**around).id;
    stack.push_back(&e);
  }
}

}  // namespace tprof
