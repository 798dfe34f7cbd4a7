// "Input Dims", "Input type", "Input Strides" and "Concrete Inputs" of an operator -> the encoded form of the Model
// (see InputHead in record/record.h). The inverse of InputText.
#pragma once
#include <string>
#include <unordered_map>

#include "base/dtypes.h"
#include "kineto/read/parse.h"
#include "model/trace.h"

namespace tprof::kineto {

class InputReader {
 public:
  explicit InputReader(Model& model) : model_(model) {}

  // Sets the inputs of the event; any of the lists may be missing (null).
  void read(Event& event, const Value& dims, const Value& types, const Value& strides, const Value& values);

 private:
  void add_one(const Value& dims, std::string_view type, const Value& strides, std::string_view value);
  void add_tensor(const Value& dims, u8 dtype, const Value& strides);
  void add_scalar(std::string_view text);
  bool add_scalar_list(std::string_view text);
  void add_head(InputTag tag, u32 count, u8 dtype = kDtypeUnknown, u8 flags = 0);
  template <class T>
  void add(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void pad() { bytes_.resize((bytes_.size() + 7) & ~size_t(7)); }

  Model& model_;
  std::string bytes_;
  std::unordered_map<std::string_view, const char*> known_;  // encoded, in the Model's arena
};

}  // namespace tprof::kineto
