#include "model/inputs.h"

#include <string.h>

namespace tprof {
namespace {

constexpr u32 kLongestList = 30;  // torch shows longer lists of tensors as []

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t(7); }

InputHead head_at(const char* at) {
  InputHead head;
  memcpy(&head, at, sizeof head);
  return head;
}

void append_sizes(std::string& out, const InputHead& head, const char* at) {
  out += '[';
  for (u32 i = 0; i < head.count; i++) {
    i64 wide = 0;
    u32 narrow = 0;
    if (head.flags & kInputWide)
      memcpy(&wide, at + size_t(i) * 8, 8);
    else
      memcpy(&narrow, at + size_t(i) * 4, 4);
    out += (i ? ", " : "") + std::to_string(head.flags & kInputWide ? wide : i64(narrow));
  }
  out += ']';
}

// Appends one input, or a list with all its elements; returns the address after it. As in torch, a list with an element
// that is no tensor has no sizes.
const char* append_input(std::string& out, const char* at) {
  InputHead head = head_at(at);
  at += sizeof head;
  if (static_cast<InputTag>(head.tag) != InputTag::tensor_list) {
    if (static_cast<InputTag>(head.tag) == InputTag::tensor)
      append_sizes(out, head, at);
    else
      out += "[]";
    return at + input_payload_bytes(head);
  }
  std::string list;
  bool shown = head.count <= kLongestList && !(head.flags & kInputCut);
  for (u64 open = head.count; open > 0; open--) {
    InputHead element = head_at(at);
    at += sizeof element;
    if (static_cast<InputTag>(element.tag) == InputTag::tensor) {
      if (!list.empty()) list += ", ";
      append_sizes(list, element, at);
    } else {
      shown = false;
      if (static_cast<InputTag>(element.tag) == InputTag::tensor_list) open += element.count;
    }
    at += input_payload_bytes(element);
  }
  out += "[" + (shown ? list : "") + "]";
  return at;
}

}  // namespace

size_t input_payload_bytes(const InputHead& head) {
  switch (static_cast<InputTag>(head.tag)) {
    case InputTag::tensor:
      return padded(size_t(head.count) * (head.flags & kInputNoStrides ? 1 : 2) * (head.flags & kInputWide ? 8 : 4));
    case InputTag::integer:
    case InputTag::floating:
    case InputTag::object: return 8;
    case InputTag::complex: return 16;
    case InputTag::string:
    case InputTag::boolean_list: return padded(head.count);
    case InputTag::integer_list:
    case InputTag::floating_list: return size_t(head.count) * 8;
    default: return 0;
  }
}

std::string dims_text(const Event& event) {
  std::string out = "[";
  const char* at = event.inputs;
  if (event.flags & kEventHasInputs)
    for (u32 i = 0; i < event.inputs_count; i++) {
      if (i) out += ", ";
      at = append_input(out, at);
    }
  return out + "]";
}

}  // namespace tprof
