#include "collect/torch/values.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <initializer_list>

#include "collect/torch/layout.h"

namespace tprof {
namespace {

constexpr i64 kSentinel = 0x2132435465768798;
constexpr int kImplBytes = 256;  // more than a TensorImpl of any version has (192 at most so far)

struct ArrayRef {
  const i64* data;
  u64 size;
};
struct Value {  // c10::IValue
  const void* payload;
  u32 tag;
  u32 padding;
};
struct Returned {  // an intrusive_ptr or TypePtr that a function returns: through a hidden
                   // pointer, like any non-trivial type
  const void* pointer = nullptr;
  const void* more = nullptr;
  ~Returned() {}
};

bool fail(char* why, const char* what) {
  snprintf(why, 80, "%s", what);
  return false;
}

// Symbols of two libraries: which of them has a class differs between versions.
struct Symbols {
  const ElfObject& torch;
  ElfObject c10 = ElfObject::mapped("libc10.so");

  template <class F>
  bool get(F& out, const char* name) const {
    if (c10.found() && c10.symbol(out, name)) return true;
    return torch.symbol(out, name);
  }

  // A data object. If a C++ program uses it itself, a copy relocation moved it into the program, and torch uses that
  // one; the library's own was never constructed.
  bool get_object(const void*& out, const char* name) const {
    if (void* moved = dlsym(RTLD_DEFAULT, name)) return out = moved, true;
    return get(out, name);
  }
};

// The result of an exported XType::get(): by value in a register, or (in older versions) through a hidden pointer, for
// which `result` is passed.
const void* type_object(const Symbols& symbols, const char* name) {
  const void* (*get)(void*);
  alignas(16) const void* result[8] = {};
  if (!symbols.get(get, name)) return nullptr;
  const void* type = get(result);
  return type == result ? result[0] : type;
}

// TensorType::get() returns a reference to a pointer.
const void* tensor_type(const Symbols& symbols) {
  const void* const* (*get)();
  if (!symbols.get(get, "_ZN3c1010TensorType3getEv")) return nullptr;
  const void* const* slot = get();
  return slot ? *slot : nullptr;
}

// Sizes, strides and numel: writes to a copy of the undefined tensor and compares what the accessors return.
bool discover_sizes(const Symbols& symbols, ValueLayout& v, char* why) {
  ArrayRef (*sizes)(const void*), (*strides)(const void*);
  i64 (*numel)(const void*);
  if (!symbols.get(sizes, "_ZNK3c1010TensorImpl12sizes_customEv") ||
      !symbols.get(strides, "_ZNK3c1010TensorImpl14strides_customEv") ||
      !symbols.get(numel, "_ZNK3c1010TensorImpl12numel_customEv"))
    return fail(why, "TensorImpl's accessors are not exported");
  alignas(16) char impl[kImplBytes];
  memcpy(impl, v.undefined, sizeof impl);
  ArrayRef seen = sizes(impl);
  long at = reinterpret_cast<const char*>(seen.data) - impl - 8;
  if (at < 16 || at > kImplBytes - 120 || at % 8 || seen.size != load<u64>(impl, at) || seen.size > kInlineDimensions)
    return fail(why, "TensorImpl: the sizes are not where they should be");
  auto store = [&](long offset, auto value) { memcpy(impl + offset, &value, sizeof value); };
  store(at, u64{3});
  if (sizes(impl).size != 3 || strides(impl).size != 3 ||
      reinterpret_cast<const char*>(strides(impl).data) != impl + at + 8 + 8 * kInlineDimensions)
    return fail(why, "TensorImpl: the strides are not where they should be");
  const i64 outside[14] = {};
  store(at, u64{7});
  store(at + 8, &outside[0]);
  if (sizes(impl).data != outside || sizes(impl).size != 7 || strides(impl).data != outside + 7)
    return fail(why, "TensorImpl: more than 5 dimensions are kept in an unknown way");
  memcpy(impl, v.undefined, sizeof impl);
  long count = at + 8 + 16 * kInlineDimensions + 8;  // after the storage offset
  store(count, kSentinel);
  if (numel(impl) != kSentinel) return fail(why, "TensorImpl: numel is not where it should be");
  v.sizes = int(at);
  v.dtype = int(count + 8);
  v.keys = v.dtype + 8;
  return true;
}

// The data type, the flag for symbolic sizes and the dispatch keys follow numel directly: {u16 dtype, 3 bytes
// of device, bit-fields, u64 keys}. Checked on the undefined tensor, which has known values for all of them.
bool discover_details(const Symbols& symbols, ValueLayout& v, char* why) {
  u16 undefined_dtype = load<u16>(v.undefined, v.dtype);
  if (undefined_dtype < 18 || undefined_dtype > 200)
    return fail(why, "TensorImpl: the data type is not where it should be");
  i32 (*get_dtype)(const void*, i32*);
  if (symbols.get(get_dtype, "aoti_torch_get_dtype")) {
    alignas(16) char impl[kImplBytes];
    const void* tensor = impl;
    memcpy(impl, v.undefined, sizeof impl);
    for (u16 dtype : {u16(6), u16(4)}) {
      i32 seen = -1;
      memcpy(impl + v.dtype, &dtype, sizeof dtype);
      if (get_dtype(&tensor, &seen) != 0 || seen != dtype)
        return fail(why, "TensorImpl: the data type is not where it should be");
    }
  }
  // Undefined: {contiguous, no storage access, dense} and {custom strides, twice}; never symbolic.
  int flags = v.dtype + 6;
  if ((load<u8>(v.undefined, v.dtype + 5) & 0xfe) == 0x42 && (load<u8>(v.undefined, flags) & 0xfc) == 0x24)
    v.flags = flags;
  return true;
}

// A functionality key k has bit (number of backends + k - 1), below that each backend has one; c10 prints
// both kinds by name. The undefined tensor has no backend and is neither dense nor anything else of interest.
bool discover_keys(const Symbols& symbols, ValueLayout& v, char* why) {
  const char* (*key_name)(u16);
  const char* (*backend_name)(u8);
  if (!symbols.get(key_name, "_ZN3c108toStringENS_11DispatchKeyE") ||
      !symbols.get(backend_name, "_ZN3c108toStringENS_16BackendComponentE"))
    return fail(why, "the names of dispatch keys are not exported");
  int backends = 0;
  while (backends < 32 && strncmp(backend_name(u8(backends + 1)), "UNKNOWN", 7) != 0) backends++;
  if (backends < 4 || backends == 32 || strcmp(key_name(1), "Dense") != 0)
    return fail(why, "the dispatch keys are numbered in an unknown way");
  for (int key = 1; backends + key - 1 < 64; key++) {
    const char* name = key_name(u16(key));
    u64 bit = u64(1) << (backends + key - 1);
    if (!strcmp(name, "NestedTensor")) v.nested_keys |= bit;
    if (!strcmp(name, "Sparse") || !strncmp(name, "SparseCsr", 9) || !strcmp(name, "MkldnnCPU"))
      v.strideless_keys |= bit;
  }
  v.plain_keys = u64(1) << backends | 1;
  u64 none_of = ((u64(2) << backends) - 1) | v.nested_keys | v.strideless_keys;
  u64 undefined = load<u64>(v.undefined, v.keys);
  if (undefined == 0 || (undefined & none_of) || !v.nested_keys || !v.strideless_keys)
    return fail(why, "TensorImpl: the dispatch keys are not where they should be");
  return true;
}

// IValue::TagType<Type>::get names the type that a tag stands for.
void discover_scalar_tags(const Symbols& symbols, ValueLayout& v) {
  Returned (*type_of)(const Value&);
  if (!symbols.get(type_of, "_ZN3c106IValue7TagTypeINS_4TypeEE3getERKS0_")) return;
  auto stands_for = [&](u32 tag, const void* type) {
    Value value = {nullptr, tag, 0};
    return type && type_of(value).pointer == type;
  };
  struct Fixed {
    u32 tag;
    ValueKind kind;
    const char* type;
  };
  const Fixed fixed[] = {{0, ValueKind::none, "_ZN3c108NoneType3getEv"},
                         {3, ValueKind::floating, "_ZN3c109FloatType3getEv"},
                         {4, ValueKind::complex, "_ZN3c1011ComplexType3getEv"},
                         {5, ValueKind::integer, "_ZN3c107IntType3getEv"}};
  for (const Fixed& f : fixed)
    if (stands_for(f.tag, type_object(symbols, f.type))) v.kind[f.tag] = u8(f.kind);
  if (v.kind[5] != u8(ValueKind::integer)) return;
  // The later tags shift from version to version: symbolic numbers, Bool, Tuple, String. Asking for the type of a Tuple
  // needs a real tuple, so the search must stop at Bool.
  const void* boolean = type_object(symbols, "_ZN3c108BoolType3getEv");
  for (u32 tag = 6; tag <= 12; tag++) {
    if (!stands_for(tag, boolean)) continue;
    v.kind[tag] = u8(ValueKind::boolean);
    if (v.string >= 0 && stands_for(tag + 2, type_object(symbols, "_ZN3c1010StringType3getEv")))
      v.kind[tag + 2] = u8(ValueKind::string);
    break;
  }
}

// A string that we create shows where a ConstantString keeps its text, and thus how large the base of all these objects
// is (intrusive_ptr_target: 24 bytes up to torch 2.2, then 16). The object is never freed.
bool discover_string(const Symbols& symbols, ValueLayout& v, char* why) {
  static const char text[] = "tprof looks for this text";
  constexpr u64 length = sizeof text - 1;
  Returned (*create)(const char*);
  if (!symbols.get(create, "_ZN3c106ivalue14ConstantString6createEPKc"))
    return fail(why, "ConstantString::create is not exported");
  const Returned made = create(text);
  for (int at : {16, 24}) {
    const char* seen = load<const char*>(made.pointer, at);
    if (reinterpret_cast<u64>(seen) < 4096 || strncmp(seen, text, length) != 0) continue;
    v.string = at;
    v.counted_string = load<u64>(made.pointer, at + 8) != length;
    if (v.counted_string && load<u64>(seen, -24) != length) return fail(why, "std::string of an unknown kind");
    v.list = at;
    v.complex = (at + 15) & ~15;
    return true;
  }
  return fail(why, "ConstantString: the text is not where it should be");
}

// isTensorList() can be true for one tag only, and then depends on one word of the list.
bool discover_lists(const Symbols& symbols, ValueLayout& v, char* why) {
  bool (*is_tensor_list)(const Value*);
  const void* tensor = tensor_type(symbols);
  const void* integer = type_object(symbols, "_ZN3c107IntType3getEv");
  if (!tensor || !integer || !symbols.get(is_tensor_list, "_ZNK3c106IValue12isTensorListEv"))
    return fail(why, "IValue::isTensorList is not exported");
  v.tensor_class = load<const void*>(tensor, 0);
  const void* list[16];
  for (const void*& word : list) word = tensor;
  int tags = 0;
  u32 list_tag = 0;
  for (u32 tag = 6; tag < 32; tag++) {
    Value value = {list, tag, 0};
    if (is_tensor_list(&value)) list_tag = tag, tags++;
  }
  if (tags != 1) return fail(why, "IValue: no tag for lists");
  int words = 0;
  Value value = {list, list_tag, 0};
  for (int i = 2; i < 16; i++) {
    list[i] = integer;
    if (!is_tensor_list(&value)) v.list_type = 8 * i, words++;
    list[i] = tensor;
  }
  if (words != 1 || v.list_type != v.list + 24) return fail(why, "IValue: lists are kept in an unknown way");
  v.kind[list_tag] = u8(ValueKind::list);
  return true;
}

}  // namespace

bool discover_values(const ElfObject& torch, ValueLayout& v, char* why) {
  Symbols symbols{torch};
  v = {};
  if (!symbols.get_object(v.undefined, "_ZN3c1019UndefinedTensorImpl10_singletonE"))
    return fail(why, "UndefinedTensorImpl is not exported");
  if (!discover_sizes(symbols, v, why) || !discover_details(symbols, v, why)) return false;
  if (!discover_keys(symbols, v, why)) return false;
  if (!discover_string(symbols, v, why) || !discover_lists(symbols, v, why)) return false;
  discover_scalar_tags(symbols, v);
  v.kind[1] = u8(ValueKind::tensor);
  return true;
}

bool candidate_values(int index, const ElfObject& torch, ValueLayout& v) {
  struct Known {
    int sizes, base;
    u8 boolean;  // the tags of strings and lists are 2 and 4 more
    u64 plain, nested, strideless;
  };
  const Known known[] = {
      {56, 16, 10, 0x10001, 0x2000000, 0x1c00000},  // 2.14
      {64, 16, 9, 0x8001, 0x2000000, 0x1c00000},    // 2.4, 2.6
      {72, 24, 8, 0x4001, 0x2000000, 0x1e00000},    // 1.13 (a bit for each of SparseCsrCPU and SparseCsrCUDA)
  };
  if (index >= int(sizeof known / sizeof *known)) return false;
  const Known& k = known[index];
  Symbols symbols{torch};
  v = {};
  symbols.get_object(v.undefined, "_ZN3c1019UndefinedTensorImpl10_singletonE");
  if (const void* tensor = tensor_type(symbols)) v.tensor_class = load<const void*>(tensor, 0);
  v.sizes = k.sizes;
  v.dtype = k.sizes + 104;
  v.keys = v.dtype + 8;
  v.plain_keys = k.plain;
  v.nested_keys = k.nested;
  v.strideless_keys = k.strideless;
  v.string = v.list = k.base;
  v.list_type = k.base + 24;
  v.complex = (k.base + 15) & ~15;
  for (u32 tag : {0, 1, 3, 4, 5})
    v.kind[tag] = u8(tag == 0   ? ValueKind::none
                     : tag == 1 ? ValueKind::tensor
                     : tag == 3 ? ValueKind::floating
                     : tag == 4 ? ValueKind::complex
                                : ValueKind::integer);
  v.kind[k.boolean] = u8(ValueKind::boolean);
  v.kind[k.boolean + 4] = u8(ValueKind::list);
  return true;
}

}  // namespace tprof
