#include "collect/python/parameters.h"

#include <algorithm>

#include "base/dtypes.h"
#include "collect/python/parameter_walk.h"
#include "collect/torch/attach.h"
#include "collect/torch/layout.h"

namespace tprof {
namespace {

constexpr u32 kMaxParameters = 64 << 10;

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

struct Counted {
  u64 key;  // a parameter's address
};

// False if a parameter cannot be counted.
bool add_all(ParameterWalk& walk, Size& sum) {
  Table<Counted> counted;  // shared ones count once
  bool all = true;
  for (PyObject* parameter; all && (parameter = walk.next());) {
    Size size{};
    all = py_type(parameter) == g_type && counted.used < kMaxParameters &&
          counted.make_room([](Counted&) { return true; });
    if (!all) break;
    Counted& known = counted.slot(reinterpret_cast<uintptr_t>(parameter));
    if (known.key) continue;
    known.key = reinterpret_cast<uintptr_t>(parameter);
    counted.used++;
    all = size_of_tensor(load<const char*>(parameter, g_tensor_at), size);
    sum.elements += size.elements;
    sum.bytes += size.bytes;
  }
  counted.clear();
  return all && !walk.incomplete();
}

// How many modules may still be visited. Counting a tree visits each module once for each of those around it. Where all
// modules are descendants of each other, as many visits as their square would be needed: the rest stays uncounted.
constexpr u32 kVisitsForEach = 256, kVisitsAtOnce = 64 << 10;
u64 g_visits_left = kVisitsAtOnce;

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
  g_visits_left += kVisitsForEach;
  ParameterWalk walk(module, u32(std::min<u64>(g_visits_left, kVisitsAtOnce)));
  Size sum{};
  if (add_all(walk, sum)) {
    record.parameters = sum.elements;
    record.parameter_bytes = sum.bytes;
  }
  g_visits_left -= walk.modules();
}

}  // namespace tprof
