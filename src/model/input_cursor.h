// Walks the inputs of an operator and sums up each one: how many elements, of which type, or which number.
#pragma once
#include <string.h>

#include <optional>
#include <string_view>

#include "base/dtypes.h"
#include "base/sizes.h"
#include "model/inputs.h"

namespace tprof {

// One input; a list of tensors is one.
struct Input {
  InputTag tag = InputTag::none;
  i64 elements = -1;  // of a tensor or of all tensors of a list; -1 not known, or impossible
  u8 dtype = kDtypeUnknown;
  i64 integer = -1;
  u64 object = 0;
  bool yes = false;
  std::string_view text;  // of a string, up to what is recorded of it
};

class InputCursor {
 public:
  explicit InputCursor(const Event& event) : at_(event.encoded_inputs().data()), left_(event.inputs_count) {
    if (event.encoded_inputs().empty()) left_ = 0;
  }

  std::optional<Input> next() {
    if (!left_) return std::nullopt;
    left_--;
    Input input = read();
    if (input.tag != InputTag::tensor_list) return input;
    input.elements = cut_ ? -1 : 0;
    for (u64 open = list_; open > 0; open--) {
      Input element = read();
      if (element.tag == InputTag::tensor_list) open += list_;
      if (element.elements < 0) input.elements = -1;
      if (input.elements >= 0) input.elements = size_or_unknown(double(input.elements) + double(element.elements));
      if (element.dtype != kDtypeUnknown) input.dtype = element.dtype;
    }
    return input;
  }

 private:
  Input read() {
    InputHead head;
    memcpy(&head, at_, sizeof head);
    const char* payload = at_ + sizeof head;
    at_ = payload + input_payload_bytes(head);
    Input input;
    input.tag = InputTag(head.tag);
    list_ = head.count;
    cut_ = head.flags & kInputCut;
    if (input.tag == InputTag::tensor) {
      input.dtype = head.dtype;
      double elements = 1;
      for (u32 i = 0; i < head.count; i++) {
        i64 size = 0;
        memcpy(&size, payload + (head.flags & kInputWide ? 8 : 4) * size_t(i), head.flags & kInputWide ? 8 : 4);
        elements = with_dimension(elements, size);
      }
      input.elements = size_or_unknown(elements);
    }
    if (input.tag == InputTag::integer) memcpy(&input.integer, payload, 8);
    if (input.tag == InputTag::object) memcpy(&input.object, payload, 8);
    if (input.tag == InputTag::boolean) input.yes = head.count;
    if (input.tag == InputTag::string) input.text = {payload, head.count};
    return input;
  }

  const char* at_;
  u32 left_;
  u32 list_ = 0;  // elements of the list that read() began
  bool cut_ = false;
};

}  // namespace tprof
