// The inputs of an operator as torch.profiler writes them: four parallel JSON lists.
//
// Rules and number formats are those of torch/csrc/profiler (InputOutputEncoder, variantShapesToStr,
// operator<< of IValue), identical in 1.13, 2.6 and 2.14. The same call repeats its inputs in every step, so the
// texts are cached.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/trace.h"

namespace tprof::kineto {

class InputText {
 public:
  // `"Concrete Inputs": [...], "Input type": [...], ...`; empty if there are no inputs. Valid until the next call. The
  // Model of the event must outlive this object.
  std::string_view of(const Event& event);

  // The same lists one by one, each with its key; for events with inputs.
  static constexpr size_t kLists = 4;
  std::array<std::pair<const char*, std::string>, kLists> lists_of(const Event& event);

 private:
  struct Lists {
    std::string dims, strides, types, values;
    void clear();
    void add(std::string_view type, std::string_view dims_text, std::string_view strides_text, std::string_view value);
    size_t count = 0;
  };

  const char* append_one(const char* at);
  const char* append_list(const char* at);

  std::unordered_map<std::string_view, std::string> known_;  // encoded bytes, in the Model's arena -> text
  size_t known_bytes_ = 0;
  Lists lists_;
  std::string scratch_dims_, scratch_strides_, scratch_value_, overflow_;
};

}  // namespace tprof::kineto
