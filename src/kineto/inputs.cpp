#include "kineto/inputs.h"

#include <string.h>

#include <charconv>
#include <cmath>

#include "base/dtypes.h"
#include "kineto/names.h"
#include "model/inputs.h"

namespace tprof::kineto {
namespace {

constexpr u32 kLongestList = 30;          // SCALAR_LIST_LENGTH_LIMIT, TENSOR_LIST_DISPLAY_LENGTH_LIMIT
constexpr size_t kKeepBytes = 64u << 20;  // maximum size of the cached texts

template <class T>
T read(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

void append_integer(std::string& out, i64 value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void append_double(std::string& out, double value) {
  int kind = std::fpclassify(value);
  constexpr double kTooLarge = 9223372036854775808.0;  // 2^63
  if ((kind == FP_NORMAL || kind == FP_ZERO) && value >= -kTooLarge && value < kTooLarge &&
      static_cast<double>(i64(value)) == value) {
    append_integer(out, i64(value));
    out += '.';
    return;
  }
  char text[40];
  out.append(text, static_cast<size_t>(snprintf(text, sizeof text, "%.17g", value)));
}

void append_complex(std::string& out, double re, double im) {
  append_double(out, re);
  out += im >= 0 ? '+' : '-';
  append_double(out, std::fabs(im));
  out += 'j';
}

void append_numbers(std::string& out, const char* at, u32 count, bool wide) {
  out += '[';
  for (u32 i = 0; i < count; i++) {
    if (i) out += ", ";
    append_integer(out, wide ? read<i64>(at + size_t(i) * 8) : i64(read<u32>(at + size_t(i) * 4)));
  }
  out += ']';
}

void append_scalars(std::string& out, InputTag tag, const char* at, u32 count) {
  out += '[';
  for (u32 i = 0; i < count; i++) {
    if (i) out += ", ";
    if (tag == InputTag::integer_list)
      append_integer(out, read<i64>(at + size_t(i) * 8));
    else if (tag == InputTag::floating_list)
      append_double(out, read<double>(at + size_t(i) * 8));
    else
      out += at[i] ? "True" : "False";
  }
  out += ']';
}

void append_tensor(const char* at, const InputHead& head, std::string& dims, std::string& strides) {
  bool wide = head.flags & kInputWide;
  append_numbers(dims, at, head.count, wide);
  if (head.flags & kInputNoStrides)
    strides += "[]";
  else
    append_numbers(strides, at + size_t(head.count) * (wide ? 8 : 4), head.count, wide);
}

}  // namespace

void InputText::Lists::clear() {
  dims.clear();
  strides.clear();
  types.clear();
  values.clear();
  count = 0;
}

void InputText::Lists::add(std::string_view type, std::string_view dims_text, std::string_view strides_text,
                           std::string_view value) {
  const char* comma = count++ ? ", " : "";
  dims.append(comma).append(dims_text);
  strides.append(comma).append(strides_text);
  types.append(comma).append(1, '"').append(type).append(1, '"');
  values.append(comma).append(1, '"').append(value).append(1, '"');
}

std::string_view InputText::of(const Event& event) {
  if (event.inputs_count == 0) return {};
  auto [it, added] = known_.try_emplace(event.encoded_inputs());
  std::string& text = it->second;
  if (!added) return text;
  for (const auto& [key, list] : lists_of(event)) {
    if (!text.empty()) text += ", ";
    text.append("\"").append(key).append("\": ").append(list);
  }
  known_bytes_ += text.size();
  if (known_bytes_ < kKeepBytes) return text;
  overflow_ = std::move(text);
  known_.clear();
  known_bytes_ = 0;
  return overflow_;
}

std::array<std::pair<const char*, std::string>, InputText::kLists> InputText::lists_of(const Event& event) {
  lists_.clear();
  const char* at = event.inputs;
  for (u32 i = 0; i < event.inputs_count; i++) at = append_one(at);
  auto list = [](const std::string& elements) { return "[" + elements + "]"; };
  return {{{kConcreteInputs, list(lists_.values)},
           {kInputType, list(lists_.types)},
           {kInputStrides, list(lists_.strides)},
           {kInputDims, list(lists_.dims)}}};
}

// Appends the input at `at`; returns the address after it.
const char* InputText::append_one(const char* at) {
  const auto head = read<InputHead>(at);
  const auto tag = static_cast<InputTag>(head.tag);
  if (tag == InputTag::tensor_list) return append_list(at);
  at += sizeof head;
  std::string& value = scratch_value_;
  value.clear();
  switch (tag) {
    case InputTag::tensor:
      scratch_dims_.clear();
      scratch_strides_.clear();
      append_tensor(at, head, scratch_dims_, scratch_strides_);
      lists_.add(dtype_name(head.dtype), scratch_dims_, scratch_strides_, "");
      break;
    case InputTag::integer:
      append_integer(value, read<i64>(at));
      lists_.add("Scalar", "[]", "[]", value);
      break;
    case InputTag::floating:
      append_double(value, read<double>(at));
      lists_.add("Scalar", "[]", "[]", value);
      break;
    case InputTag::boolean: lists_.add("Scalar", "[]", "[]", head.count ? "True" : "False"); break;
    case InputTag::complex:
      append_complex(value, read<double>(at), read<double>(at + 8));
      lists_.add("Scalar", "[]", "[]", value);
      break;
    case InputTag::integer_list:
    case InputTag::floating_list:
    case InputTag::boolean_list:
      if (head.count > kLongestList || (head.flags & kInputCut)) {
        lists_.add("", "[]", "[]", "");
        break;
      }
      append_scalars(value, tag, at, head.count);
      lists_.add("ScalarList", "[]", "[]", value);
      break;
    default: lists_.add("", "[]", "[]", "");  // also strings, which torch never prints
  }
  return at + input_payload_bytes(head);
}

// Elements that are no tensors occur only in damaged recordings; they are skipped as by the reader.
const char* InputText::append_list(const char* at) {
  const auto list = read<InputHead>(at);
  at += sizeof list;
  std::string &dims = scratch_dims_, &strides = scratch_strides_;
  dims = "[";
  strides = "[";
  bool undefined = false;
  u64 open = list.count;
  for (; open > 0; open--) {
    const auto element = read<InputHead>(at);
    at += sizeof element;
    if (static_cast<InputTag>(element.tag) != InputTag::tensor) {
      undefined = true;
      if (static_cast<InputTag>(element.tag) == InputTag::tensor_list) open += element.count;
      at += input_payload_bytes(element);
      continue;
    }
    if (dims.size() > 1) {
      dims += ", ";
      strides += ", ";
    }
    append_tensor(at, element, dims, strides);
    at += input_payload_bytes(element);
  }
  dims += ']';
  strides += ']';
  if (undefined)
    lists_.add("", "[]", "[]", "");
  else if (list.count > kLongestList || (list.flags & kInputCut))
    lists_.add("TensorList", "[]", "[]", "");
  else
    lists_.add("TensorList", dims, strides, "");
  return at;
}

}  // namespace tprof::kineto
