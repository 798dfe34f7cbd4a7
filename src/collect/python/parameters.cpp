#include "collect/python/parameters.h"

#include <sys/mman.h>

#include "base/dtypes.h"
#include "collect/torch/attach.h"
#include "collect/torch/layout.h"

namespace tprof {
namespace {

constexpr u32 kMaxParameters = 16 << 10;

PyObject* g_type;
int g_tensor_at = -1;  // the tensor's C++ object in its Python object; kWrong after a contradiction
constexpr int kWrong = -2;

struct Size {
  u64 elements, bytes;
};

// False if the object does not hold its sizes as numbers: nested, symbolic, or more dimensions than torch allows.
bool size_of_tensor(const char* tensor, Size& size) {
  const ValueLayout& v = g_torch.values;
  if (!tensor || tensor == v.undefined) return false;
  bool symbolic = v.flags >= 0 && (load<u8>(tensor, v.flags) & kSymbolicFlag);
  u64 dimensions = load<u64>(tensor, v.sizes);
  u32 each = dtype_bytes(load<u16>(tensor, v.dtype));
  if ((load<u64>(tensor, v.keys) & v.nested_keys) || symbolic || dimensions > u64(kMaxDimensions) || !each)
    return false;
  const char* sizes = dimensions <= kInlineDimensions ? tensor + v.sizes + 8 : load<const char*>(tensor, v.sizes + 8);
  size.elements = 1;
  for (u64 i = 0; i < dimensions; i++) size.elements *= load<u64>(sizes, long(8 * i));
  size.bytes = size.elements * each;
  return true;
}

struct Parameters {
  const void** seen;  // parameters met so far: shared ones count once
  u32 bits;
  u32 met = 0;
  Size sum{};

  bool add(PyObject* parameter);
  bool add_module(PyObject* module, u32 depth);
  bool is_new(const void* parameter) {
    u32 mask = (1u << bits) - 1,
        at = u32(reinterpret_cast<uintptr_t>(parameter) * 0x9e3779b97f4a7c15ull >> (64 - bits));
    while (seen[at] && seen[at] != parameter) at = (at + 1) & mask;
    bool added = !seen[at];
    seen[at] = parameter;
    return added;
  }
};

bool Parameters::add(PyObject* parameter) {
  if (py_type(parameter) != g_type || ++met > kMaxParameters) return false;
  if (!is_new(parameter)) return true;
  Size size;
  if (!size_of_tensor(load<const char*>(parameter, g_tensor_at), size)) return false;
  sum.elements += size.elements;
  sum.bytes += size.bytes;
  return true;
}

PyWord g_dict{"__dict__"};

bool Parameters::add_module(PyObject* module, u32 depth) {
  constexpr u32 kDeepest = 64;
  if (depth > kDeepest) return false;
  PyOwned attributes(g_py.PyObject_GenericGetAttr(module, g_dict.get()));
  if (!attributes) return g_py.PyErr_Clear(), false;
  PySize at = 0;
  PyObject *name, *value;
  PyObject* own = g_py.PyDict_GetItemString(attributes.get(), "_parameters");
  while (own && g_py.PyDict_Next(own, &at, &name, &value))
    if (value != g_py.none && !add(value)) return false;
  PyObject* children = g_py.PyDict_GetItemString(attributes.get(), "_modules");
  at = 0;
  while (children && g_py.PyDict_Next(children, &at, &name, &value))
    if (value != g_py.none && !add_module(value, depth + 1)) return false;
  return own != nullptr;
}

}  // namespace

void parameters_prepare(PyObject* parameter_type) {
  g_py.Py_IncRef(parameter_type);
  g_type = parameter_type;
}

PyObject* learn_parameter(PyObject*, PyObject* const* args, PySize count) {
  constexpr int kFirst = 16, kLast = 32;  // after the reference count and the type, before the fields of subclasses
  if (count != 4 || g_tensor_at == kWrong || !g_torch.inputs_ok) return g_py.new_none();
  auto address = u64(g_py.PyLong_AsLong(args[1]));
  auto elements = u64(g_py.PyLong_AsLong(args[2])), bytes = u64(g_py.PyLong_AsLong(args[3]));
  int found = kWrong;
  for (int at = kLast; at >= kFirst; at -= 8)
    if (load<u64>(args[0], at) == address) found = at;
  Size size;
  bool right = found > 0 && (g_tensor_at < 0 || g_tensor_at == found) &&
               size_of_tensor(reinterpret_cast<const char*>(address), size) && size.elements == elements &&
               size.bytes == bytes;
  g_tensor_at = right ? found : kWrong;
  return g_py.new_none();
}

void count_parameters(PyObject* module, ModuleRecord& record) {
  record.parameters = ModuleRecord::kUnknown;
  if (g_tensor_at < 0) return;
  constexpr u32 kBits = 15;
  static_assert(kMaxParameters * 2 <= 1u << kBits);
  void* seen = mmap(nullptr, sizeof(void*) << kBits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (seen == MAP_FAILED) return;
  Parameters parameters{static_cast<const void**>(seen), kBits};
  if (parameters.add_module(module, 0)) {
    record.parameters = parameters.sum.elements;
    record.parameter_bytes = parameters.sum.bytes;
  }
  munmap(seen, sizeof(void*) << kBits);
}

}  // namespace tprof
