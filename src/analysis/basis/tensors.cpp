#include "analysis/basis/tensors.h"

#include <cstring>

#include "base/dtypes.h"
#include "base/sizes.h"
#include "model/inputs.h"

namespace tprof {
namespace {

template <class T>
T read(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

i64 dimension(const InputHead& head, const char* payload, size_t i) {
  return head.flags & kInputWide ? read<i64>(payload + i * 8) : i64(read<u32>(payload + i * 4));
}

OpInput input_of(const InputHead& head, const char* payload) {
  OpInput out;
  switch (static_cast<InputTag>(head.tag)) {
    case InputTag::tensor:
      out.tensor.dtype = head.dtype;
      out.tensor.has_strides = !(head.flags & kInputNoStrides);
      for (u32 i = 0; i < head.count; i++) out.tensor.sizes.push_back(dimension(head, payload, i));
      for (u32 i = 0; i < head.count && !(head.flags & kInputNoStrides); i++)
        out.tensor.strides.push_back(dimension(head, payload, head.count + i));
      out.tensor.defined = size_or_unknown(out.tensor.elements()) >= 0;
      break;
    case InputTag::integer: out.integers.push_back(read<i64>(payload)); break;
    case InputTag::integer_list:
      for (u32 i = 0; i < head.count; i++) out.integers.push_back(read<i64>(payload + size_t(i) * 8));
      break;
    case InputTag::boolean: out.booleans.push_back(head.count != 0); break;
    case InputTag::boolean_list:
      for (u32 i = 0; i < head.count; i++) out.booleans.push_back(payload[i] != 0);
      break;
    default: break;
  }
  return out;
}

}  // namespace

double TensorInput::elements() const {
  double elements = 1;
  for (i64 size : sizes) elements = with_dimension(elements, size);
  return elements;
}

std::vector<OpInput> inputs_of(const Event& event) {
  std::vector<OpInput> out;
  std::string_view encoded = event.encoded_inputs();
  if (!(event.flags & kEventHasInputs) || encoded.empty()) return out;
  const char* at = encoded.data();
  const char* end = at + encoded.size();
  for (u32 i = 0; i < event.inputs_count && end - at >= i64(sizeof(InputHead)); i++) {
    auto head = read<InputHead>(at);
    at += sizeof head;
    out.push_back(input_of(head, at));
    at += input_payload_bytes(head);
    // In the encoded form the elements of a list, also of a nested one, are separate inputs.
    for (u64 open = static_cast<InputTag>(head.tag) == InputTag::tensor_list ? head.count : 0;
         open > 0 && end - at >= i64(sizeof(InputHead)); open--) {
      auto element = read<InputHead>(at);
      at += sizeof element;
      if (TensorInput t = input_of(element, at).tensor; t.defined) out.back().list.push_back(std::move(t));
      at += input_payload_bytes(element);
      if (static_cast<InputTag>(element.tag) == InputTag::tensor_list) open += element.count;
    }
    if (head.flags & kInputCut) out.back().list.clear();  // a truncated list would be taken for the whole
  }
  return out;
}

bool is_half(u8 dtype) { return dtype == kDtypeHalf || dtype == kDtypeBFloat16; }

}  // namespace tprof
