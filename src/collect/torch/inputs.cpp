#include "collect/torch/inputs.h"

#include <string.h>

#include "collect/torch/groups.h"
#include "record/record.h"

namespace tprof {
namespace {

struct Value {  // c10::IValue
  union {
    const char* object;
    i64 integer;
    u64 bits;
    u8 boolean;
  };
  u32 tag;
  u32 padding;
};
static_assert(sizeof(Value) == 16);

constexpr u64 kMaxInputs = 65535;  // what EncodedInputs::count can hold

// Bounded output. A put that does not fit changes nothing and returns nullptr or false.
struct Out {
  char* at;
  char* end;

  char* put(InputTag tag, u64 payload_bytes, u64 count = 0, u8 dtype = 0, u8 flags = 0) {
    u64 bytes = sizeof(InputHead) + ((payload_bytes + 7) & ~u64(7));
    if (__builtin_expect(bytes > u64(end - at), 0)) return nullptr;
    InputHead head = {u8(tag), dtype, flags, 0, u32(count)};
    memcpy(at, &head, sizeof head);
    char* payload = at + sizeof head;
    at += bytes;
    if (payload_bytes % 8) memset(at - 8, 0, 8);
    return payload;
  }
  bool put_word(InputTag tag, u64 word) {
    char* payload = put(tag, 8);
    if (payload) memcpy(payload, &word, 8);
    return payload;
  }
};

inline ValueKind kind_of(const ValueLayout& v, const Value& value) {
  return value.tag < kValueTags ? ValueKind(v.kind[value.tag]) : ValueKind::other;
}

// For any sizes and number of dimensions.
__attribute__((noinline)) bool put_large_tensor(const i64* sizes, const i64* strides, u64 dimensions, u8 dtype,
                                                u8 flags, Out& out) {
  if (!sizes) return out.put(InputTag::other, 0);
  u64 bytes = 8 * dimensions;
  bool has_strides = !(flags & kInputNoStrides);
  char* payload = out.put(InputTag::tensor, has_strides ? 2 * bytes : bytes, dimensions, dtype, flags | kInputWide);
  if (!payload) return false;
  memcpy(payload, sizes, bytes);
  if (has_strides) memcpy(payload + bytes, strides, bytes);
  return true;
}

inline bool put_tensor(const ValueLayout& v, const char* impl, Out& out) {
  if (__builtin_expect(!impl || impl == v.undefined, 0)) return out.put(InputTag::undefined, 0);
  u64 keys = load<u64>(impl, v.keys);
  bool symbolic = v.flags >= 0 && (load<u8>(impl, v.flags) & kSymbolicFlag);
  if (__builtin_expect((keys & v.nested_keys) || symbolic, 0)) return out.put(InputTag::undefined, 0);
  u16 type = load<u16>(impl, v.dtype);
  u8 dtype = type < 255 ? u8(type) : 255;
  u64 dimensions = load<u64>(impl, v.sizes);
  if (__builtin_expect(dimensions > kMaxDimensions, 0)) return out.put(InputTag::other, 0);
  const i64* sizes = reinterpret_cast<const i64*>(impl + v.sizes + 8);
  const i64* strides = sizes + kInlineDimensions;
  bool has_strides = !(keys & v.strideless_keys);
  u8 flags = has_strides ? 0 : kInputNoStrides;
  if (__builtin_expect(dimensions > kInlineDimensions, 0)) {
    sizes = load<const i64*>(impl, v.sizes + 8);
    return put_large_tensor(sizes, sizes + dimensions, dimensions, dtype, flags, out);
  }
  u64 high = 0;
  for (u64 i = 0; i < dimensions; i++) high |= u64(sizes[i]) | u64(strides[i]);
  if (__builtin_expect(high >> 32, 0)) return put_large_tensor(sizes, strides, dimensions, dtype, flags, out);
  char* payload = out.put(InputTag::tensor, has_strides ? 8 * dimensions : 4 * dimensions, dimensions, dtype, flags);
  if (!payload) return false;
  u32* words = reinterpret_cast<u32*>(payload);
  for (u64 i = 0; i < dimensions; i++) words[i] = u32(sizes[i]);
  if (has_strides)
    for (u64 i = 0; i < dimensions; i++) words[dimensions + i] = u32(strides[i]);
  return true;
}

bool put_string(const ValueLayout& v, const char* object, Out& out) {
  if (!object) return out.put(InputTag::other, 0);
  const char* text = load<const char*>(object, v.string);
  u64 length = v.counted_string ? load<u64>(text, -24) : load<u64>(object, v.string + 8);
  u64 kept = length < kStringLimit ? length : kStringLimit;
  char* payload = out.put(InputTag::string, kept, kept, 0, kept < length ? kInputCut : 0);
  if (payload) memcpy(payload, text, kept);
  return payload;
}

bool put_list(const ValueLayout& v, const char* object, Out& out) {
  if (!object) return out.put(InputTag::other, 0);
  const Value* values = load<const Value*>(object, v.list);
  u64 count = u64(load<const Value*>(object, v.list + 8) - values);
  u64 kept = count < kListLimit ? count : kListLimit;
  u8 flags = kept < count ? kInputCut : 0;
  const void* type = load<const void*>(object, v.list_type);
  if (type && load<const void*>(type, 0) == v.tensor_class) {
    if (!out.put(InputTag::tensor_list, 0, kept, 0, flags)) return false;
    for (u64 i = 0; i < kept; i++) {
      bool is_tensor = kind_of(v, values[i]) == ValueKind::tensor;
      if (!put_tensor(v, is_tensor ? values[i].object : nullptr, out)) return false;
    }
    return true;
  }
  if (count == 0) return out.put(InputTag::integer_list, 0);
  ValueKind kind = kind_of(v, values[0]);
  for (u64 i = 1; i < kept; i++)
    if (values[i].tag != values[0].tag) kind = ValueKind::other;
  if (kind == ValueKind::boolean) {
    char* payload = out.put(InputTag::boolean_list, kept, kept, 0, flags);
    for (u64 i = 0; payload && i < kept; i++) payload[i] = char(values[i].boolean != 0);
    return payload;
  }
  if (kind != ValueKind::integer && kind != ValueKind::floating) return out.put(InputTag::other_list, 0, count);
  InputTag tag = kind == ValueKind::integer ? InputTag::integer_list : InputTag::floating_list;
  char* payload = out.put(tag, 8 * kept, kept, 0, flags);
  for (u64 i = 0; payload && i < kept; i++) memcpy(payload + 8 * i, &values[i].bits, 8);
  return payload;
}

bool put_complex(const ValueLayout& v, const char* object, Out& out) {
  char* payload = object ? out.put(InputTag::complex, 16) : out.put(InputTag::other, 0);
  if (payload && object) memcpy(payload, object + v.complex, 16);
  return payload;
}

// The address of the C++ object that an object of a custom class holds in its slot.
bool put_object(const ValueLayout& v, const char* object, Out& out) {
  const Value* slot = object ? load<const Value*>(object, v.slots) : nullptr;
  bool filled = slot && load<const Value*>(object, v.slots + 8) > slot;
  if (filled) return out.put_word(InputTag::object, slot->bits);
  return out.put(InputTag::other, 0);
}

// All kinds except tensors.
__attribute__((noinline)) bool put_other(const ValueLayout& v, const Value& value, ValueKind kind, Out& out) {
  switch (kind) {
    case ValueKind::none: return out.put(InputTag::none, 0);
    case ValueKind::integer: return out.put_word(InputTag::integer, value.bits);
    case ValueKind::floating: return out.put_word(InputTag::floating, value.bits);
    case ValueKind::boolean: return out.put(InputTag::boolean, 0, value.boolean != 0);
    case ValueKind::complex: return put_complex(v, value.object, out);
    case ValueKind::string: return put_string(v, value.object, out);
    case ValueKind::list: return put_list(v, value.object, out);
    case ValueKind::object: return put_object(v, value.object, out);
    case ValueKind::tensor: break;
    case ValueKind::other:
      if (g_groups_sought.load(std::memory_order_relaxed) && group_seek(value.tag, value.object))
        return put_object(v, value.object, out);
  }
  return out.put(InputTag::other, 0);
}

inline bool put_value(const ValueLayout& v, const Value& value, Out& out) {
  ValueKind kind = kind_of(v, value);
  return kind == ValueKind::tensor ? put_tensor(v, value.object, out) : put_other(v, value, kind, out);
}

}  // namespace

EncodedInputs encode_inputs(const TorchLayout& layout, const void* record_function, void* buffer, u32 capacity) {
  EncodedInputs encoded;
  if (__builtin_expect(!layout.inputs_ok, 0)) return encoded;
  const Value* values = load<const Value*>(record_function, layout.inputs);
  u64 total = load<u64>(record_function, layout.inputs + 8);
  if (!values || total > kMaxInputs) return encoded;
  encoded.total = u32(total);
  char* begin = static_cast<char*>(buffer);
  Out out = {begin, begin + capacity};
  for (u64 i = 0; i < total; i++) {
    char* whole = out.at;
    if (!put_value(layout.values, values[i], out)) {
      memset(whole, 0, u64(out.at - whole));  // part of a list was written; what follows a record must stay zero
      out.at = whole;
      break;
    }
    encoded.count++;
  }
  encoded.bytes = u32(out.at - begin);
  return encoded;
}

}  // namespace tprof
