// Python calls and nn.Modules, from the recording to the Model.
#pragma once
#include <unordered_map>

#include "model/tables.h"

namespace tprof {

class PythonLoader {
 public:
  // Fills Model::modules.
  PythonLoader(const Meta& meta, Model& model, const NameTable& names);

  // The event of a call, without its times, thread and ids.
  Event event_of(const PythonCallRecord& record);

 private:
  u32 add_name(std::string name);
  u32 code_name(u32 code);
  u32 module_name(u32 module);

  const Meta& meta_;
  Model& model_;
  const NameTable& names_;
  std::unordered_map<u32, u32> code_names_;  // code id -> index into Model::names
  std::unordered_map<u32, u32> modules_;     // module id -> index into Model::modules
  std::vector<u32> module_names_;            // by index into Model::modules; kLostName: not made yet
};

inline bool is_python(const Event& e) { return e.flags & kEventPython; }

// Only of events with kEventPython.
inline const PythonDetail& python_detail(const Event& e) { return *e.python; }
inline bool is_module(const Event& e) { return is_python(e) && python_detail(e).module != kNone; }

}  // namespace tprof
