// The parameters of a module and of all modules below it, in the order of module.parameters(). Each module is visited
// once: it may be used in several places, and even be its own descendant. They are read from the __dict__ of each
// module, so that none of the program's code runs.
#pragma once
#include "collect/interpreter/api.h"
#include "collect/python/table.h"

namespace tprof {

// GIL held until the walk is over.
class ParameterWalk {
 public:
  explicit ParameterWalk(PyObject* module, u32 most_modules = 64 << 10) : most_modules_(most_modules) { enter(module); }
  ~ParameterWalk() { visited_.clear(); }
  ParameterWalk(const ParameterWalk&) = delete;

  // The next one, borrowed; a shared one comes again. nullptr: there are no more.
  PyObject* next();
  // Not all that there is was visited: it was too much, too deep, or not laid out like an nn.Module.
  bool incomplete() const { return incomplete_; }
  u32 modules() const { return visited_.used; }

 private:
  static constexpr u32 kDeepest = 256;
  struct Visited {
    u64 key;  // a module's address
  };
  struct Level {
    PyObject *parameters, *children;  // dictionaries, borrowed; nullptr: it has been read to its end
    PySize at;
  };

  void enter(PyObject* module);

  u32 most_modules_, depth_ = 0;
  bool incomplete_ = false;
  Table<Visited> visited_;
  Level levels_[kDeepest];  // a module that is visited and those around it
};

}  // namespace tprof
