#include "collect/interpreter/api.h"

#include <dlfcn.h>

// Resolved by the loader when it loads us, since a dlsym() that finds nothing is expensive.
extern "C" __attribute__((weak, visibility("default"))) int PySys_AddAuditHook(int (*)(const char*, void*, void*),
                                                                               void*);

namespace tprof {

constinit PythonApi g_py;

bool PythonApi::load() {
  if (!::PySys_AddAuditHook) return false;  // only Python 3.8 and later has it
  bool all = true;
#define PY_OPTIONAL(result, name, parameters) name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name));
#define PY_FUNCTION(result, name, parameters) \
  PY_OPTIONAL(result, name, parameters)       \
  all = all && name;
  TPROF_PYTHON_API(PY_FUNCTION, PY_OPTIONAL)
#undef PY_FUNCTION
#undef PY_OPTIONAL
  none = static_cast<PyObject*>(dlsym(RTLD_DEFAULT, "_Py_NoneStruct"));
  no = static_cast<PyObject*>(dlsym(RTLD_DEFAULT, "_Py_FalseStruct"));
  return all && none && no && (PyCFunction_NewEx || PyCMethod_New);
}

}  // namespace tprof
