// The few functions of CPython's C API that tprof uses, found in the running interpreter by name: no Python headers,
// one binary for all versions from 3.8 on. All of them need the GIL unless said otherwise.
#pragma once
#include "base/types.h"

namespace tprof {

struct PyObject;  // opaque
using PySize = intptr_t;

// PY_FUNCTION(result, name, (parameters)) that must be there, PY_OPTIONAL that may be missing.
#define TPROF_PYTHON_API(PY_FUNCTION, PY_OPTIONAL)                                                  \
  PY_FUNCTION(int, Py_IsInitialized, ())                                                            \
  PY_FUNCTION(int, PySys_AddAuditHook, (int (*)(const char*, PyObject*, void*), void*))             \
  PY_FUNCTION(PyObject*, PyTuple_GetItem, (PyObject*, PySize))                                      \
  PY_FUNCTION(const char*, PyUnicode_AsUTF8, (PyObject*))                                           \
  PY_FUNCTION(PyObject*, PyUnicode_FromString, (const char*))                                       \
  PY_FUNCTION(PyObject*, PyDict_New, ())                                                            \
  PY_FUNCTION(int, PyDict_SetItemString, (PyObject*, const char*, PyObject*))                       \
  PY_FUNCTION(PyObject*, PyEval_GetBuiltins, ())                                                    \
  PY_FUNCTION(PyObject*, PyRun_StringFlags, (const char*, int, PyObject*, PyObject*, void*))        \
  PY_FUNCTION(PyObject*, PyObject_CallFunction, (PyObject*, const char*, ...))                      \
  PY_FUNCTION(PyObject*, PyObject_GetAttr, (PyObject*, PyObject*))                                  \
  PY_FUNCTION(void, Py_IncRef, (PyObject*))                                                         \
  PY_FUNCTION(void, Py_DecRef, (PyObject*))                                                         \
  PY_FUNCTION(void, PyErr_Fetch, (PyObject**, PyObject**, PyObject**))                              \
  PY_FUNCTION(void, PyErr_Restore, (PyObject*, PyObject*, PyObject*))                               \
  PY_FUNCTION(void, PyErr_Clear, ())                                                                \
  PY_FUNCTION(PyObject*, PyErr_Occurred, ())                                                        \
  PY_FUNCTION(int, Py_AddPendingCall, (int (*)(void*), void*)) /* without the GIL */                \
  PY_FUNCTION(PyObject*, PyEval_GetFrame, ())                                                       \
  PY_FUNCTION(int, PyObject_IsTrue, (PyObject*))                                                    \
  PY_OPTIONAL(PyObject*, PyCFunction_NewEx, (void*, PyObject*, PyObject*))                          \
  PY_OPTIONAL(PyObject*, PyCMethod_New, (void*, PyObject*, PyObject*, PyObject*))                   \
  PY_OPTIONAL(PyObject*, PyFrame_GetVar, (PyObject*, PyObject*)) /* 3.12 */                         \
  PY_OPTIONAL(const char*, Py_GetVersion, ())                                                       \
  PY_OPTIONAL(long, PyLong_AsLong, (PyObject*))                                                     \
  PY_OPTIONAL(PySize, PyTuple_Size, (PyObject*))                                                    \
  PY_OPTIONAL(const char*, PyBytes_AsString, (PyObject*))                                           \
  PY_OPTIONAL(PySize, PyBytes_Size, (PyObject*))                                                    \
  PY_OPTIONAL(void*, PyGILState_GetThisThreadState, ()) /* without the GIL */

struct PythonApi {
#define PY_FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
  TPROF_PYTHON_API(PY_FUNCTION, PY_FUNCTION)
#undef PY_FUNCTION
  PyObject* none = nullptr;

  // False in a process that is not (such) a Python.
  bool load();
  PyObject* new_none() const { return Py_IncRef(none), none; }
};

extern PythonApi g_py;

// A pending exception of the program's, set aside while our code runs.
class KeepException {
 public:
  KeepException() { g_py.PyErr_Fetch(&type_, &value_, &trace_); }
  ~KeepException() { g_py.PyErr_Restore(type_, value_, trace_); }
  KeepException(const KeepException&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

}  // namespace tprof
