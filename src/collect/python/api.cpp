#include "collect/python/api.h"

#include <dlfcn.h>

namespace tprof {

constinit PythonApi g_py;

bool PythonApi::load() {
  // Looked up first: it tells a Python of 3.8 or later from everything else with one lookup.
  if (!dlsym(RTLD_DEFAULT, "PySys_AddAuditHook")) return false;
  bool all = true;
#define PY_OPTIONAL(result, name, parameters) \
  name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name));
#define PY_FUNCTION(result, name, parameters) \
  PY_OPTIONAL(result, name, parameters)       \
  all = all && name;
  TPROF_PYTHON_API(PY_FUNCTION, PY_OPTIONAL)
#undef PY_FUNCTION
#undef PY_OPTIONAL
  none = static_cast<PyObject*>(dlsym(RTLD_DEFAULT, "_Py_NoneStruct"));
  return all && none && (PyCFunction_NewEx || PyCMethod_New);
}

}  // namespace tprof
