// The few functions of CPython's C API that tprof uses, found by name in the running interpreter: no Python headers,
// one binary for all versions from 3.8 on. They need the GIL unless a comment says otherwise.
#pragma once
#include "base/types.h"

namespace tprof {

struct PyObject;  // opaque
using PySize = intptr_t;
// Py_tracefunc: (the object that it was set with, frame, event, argument).
using PyProfiler = int(PyObject*, PyObject*, int, PyObject*);

// PY_FUNCTION(result, name, (parameters)): must exist. PY_OPTIONAL: may be missing.
#define TPROF_PYTHON_API(PY_FUNCTION, PY_OPTIONAL)                                                 \
  PY_FUNCTION(int, Py_IsInitialized, ())                                                           \
  PY_FUNCTION(PyObject*, PyImport_GetModuleDict, ()) /* borrowed */                                \
  PY_FUNCTION(int, PySys_AddAuditHook, (int (*)(const char*, PyObject*, void*), void*))            \
  PY_FUNCTION(PyObject*, PyTuple_GetItem, (PyObject*, PySize))                                     \
  PY_FUNCTION(const char*, PyUnicode_AsUTF8, (PyObject*))                                          \
  PY_FUNCTION(PyObject*, PyUnicode_FromString, (const char*))                                      \
  PY_FUNCTION(PyObject*, PyDict_New, ())                                                           \
  PY_FUNCTION(int, PyDict_SetItemString, (PyObject*, const char*, PyObject*))                      \
  PY_FUNCTION(PyObject*, PyEval_GetBuiltins, ())                                                   \
  PY_FUNCTION(PyObject*, Py_CompileString, (const char*, const char* file, int))                   \
  PY_FUNCTION(PyObject*, PyEval_EvalCode, (PyObject*, PyObject*, PyObject*))                       \
  PY_FUNCTION(PyObject*, PyObject_CallFunction, (PyObject*, const char*, ...))                     \
  PY_FUNCTION(PyObject*, PyObject_GetAttr, (PyObject*, PyObject*))                                 \
  PY_FUNCTION(int, PyObject_SetAttr, (PyObject*, PyObject*, PyObject*))                            \
  PY_FUNCTION(PyObject*, PyObject_Call, (PyObject*, PyObject * args, PyObject * keywords))         \
  PY_FUNCTION(void, Py_IncRef, (PyObject*))                                                        \
  PY_FUNCTION(void, Py_DecRef, (PyObject*))                                                        \
  PY_FUNCTION(void, PyErr_Fetch, (PyObject**, PyObject**, PyObject**))                             \
  PY_FUNCTION(void, PyErr_Restore, (PyObject*, PyObject*, PyObject*))                              \
  PY_FUNCTION(void, PyErr_Clear, ())                                                               \
  PY_FUNCTION(int, Py_AddPendingCall, (int (*)(void*), void*)) /* without the GIL */               \
  PY_FUNCTION(int, PyObject_IsTrue, (PyObject*))                                                   \
  PY_FUNCTION(PyObject*, PyObject_Type, (PyObject*))                                               \
  PY_FUNCTION(PyObject*, PyObject_Repr, (PyObject*))                                               \
  PY_FUNCTION(PyObject*, PyObject_GenericGetAttr, (PyObject*, PyObject*))                          \
  PY_FUNCTION(PyObject*, PyObject_CallMethod, (PyObject*, const char*, const char*, ...))          \
  PY_FUNCTION(int, PyDict_Next, (PyObject*, PySize*, PyObject**, PyObject**))                      \
  PY_FUNCTION(PyObject*, PyDict_GetItem, (PyObject*, PyObject*)) /* borrowed; nullptr of others */ \
  PY_FUNCTION(PyObject*, PyMapping_GetItemString, (PyObject*, const char*))                        \
  PY_FUNCTION(PySize, PyList_Size, (PyObject*))                                                    \
  PY_FUNCTION(PyObject*, PyList_GetItem, (PyObject*, PySize))            /* borrowed */            \
  PY_FUNCTION(PyObject*, PyDict_GetItemString, (PyObject*, const char*)) /* borrowed */            \
  PY_FUNCTION(long, PyLong_AsLong, (PyObject*))                                                    \
  PY_FUNCTION(const char*, Py_GetVersion, ())                                                      \
  PY_FUNCTION(PyObject*, PyWeakref_NewRef, (PyObject*, PyObject*))                                 \
  PY_OPTIONAL(PyObject*, PyCFunction_NewEx, (void*, PyObject*, PyObject*))                         \
  PY_OPTIONAL(PyObject*, PyCMethod_New, (void*, PyObject*, PyObject*, PyObject*))                  \
  PY_OPTIONAL(void, PyFunction_SetVectorcall, (PyObject*, void*)) /* 3.12 */                       \
  PY_OPTIONAL(void*, PyVectorcall_Function, (PyObject*))          /* 3.9 */                        \
  PY_OPTIONAL(int, PyWeakref_GetRef, (PyObject*, PyObject**))     /* 3.13 */                       \
  PY_OPTIONAL(PyObject*, PyWeakref_GetObject, (PyObject*))        /* borrowed; before 3.15 */      \
  PY_OPTIONAL(PyObject*, PyFrame_GetCode, (PyObject*))            /* 3.9 */                        \
  PY_OPTIONAL(void, PyEval_SetProfile, (PyProfiler*, PyObject*))                                   \
  PY_OPTIONAL(int, _PyEval_SetProfile, (void* thread, PyProfiler*, PyObject*)) /* 3.9 to 3.11 */   \
  PY_OPTIONAL(void*, PyInterpreterState_Main, ())                                                  \
  PY_OPTIONAL(void*, PyInterpreterState_ThreadHead, (void*))                                       \
  PY_OPTIONAL(void*, PyThreadState_Next, (void*))                                                  \
  PY_OPTIONAL(PySize, PyTuple_Size, (PyObject*))                                                   \
  PY_OPTIONAL(const char*, PyBytes_AsString, (PyObject*))                                          \
  PY_OPTIONAL(PySize, PyBytes_Size, (PyObject*))                                                   \
  PY_OPTIONAL(void*, PyGILState_GetThisThreadState, ()) /* without the GIL */                      \
  PY_OPTIONAL(int, PyGILState_Ensure, ())               /* without the GIL */                      \
  PY_OPTIONAL(void, PyGILState_Release, (int))                                                     \
  PY_OPTIONAL(PyObject*, PyEval_GetFrame, ()) /* borrowed */                                       \
  PY_OPTIONAL(int, PyType_IsSubtype, (PyObject*, PyObject*))

struct PythonApi {
#define PY_FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
  TPROF_PYTHON_API(PY_FUNCTION, PY_FUNCTION)
#undef PY_FUNCTION
  PyObject* none = nullptr;
  PyObject* no = nullptr;  // Py_False

  // False if this process is not Python 3.8 or later.
  bool load();
  PyObject* new_none() const { return Py_IncRef(none), none; }
};

extern PythonApi g_py;

// A Python string for a name, made at its first use and kept.
struct PyWord {
  const char* text;
  PyObject* object = nullptr;
  PyObject* get() { return object ? object : object = g_py.PyUnicode_FromString(text); }
};

// Owns a reference, which the destructor releases.
class PyOwned {
 public:
  explicit PyOwned(PyObject* object) : object_(object) {}
  ~PyOwned() {
    if (object_) g_py.Py_DecRef(object_);
  }
  PyOwned(const PyOwned&) = delete;
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

// The attribute, or nullptr: an AttributeError (or any other exception) is cleared.
inline PyObject* py_attribute(PyObject* object, PyWord& name) {
  PyObject* value = object ? g_py.PyObject_GetAttr(object, name.get()) : nullptr;
  if (!value) g_py.PyErr_Clear();
  return value;
}

// The text of a string, "" for any other object.
inline const char* py_text(PyObject* object) {
  const char* text = object ? g_py.PyUnicode_AsUTF8(object) : nullptr;
  if (!text) g_py.PyErr_Clear();
  return text ? text : "";
}

// The type of an object, borrowed. With a GIL, every object starts with a reference count and its type.
inline PyObject* py_type(PyObject* object) { return reinterpret_cast<PyObject* const*>(object)[1]; }

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
