#include "kineto/read/inputs.h"

#include <algorithm>
#include <charconv>

#include "base/dtypes.h"
#include "base/reals.h"

namespace tprof::kineto {
namespace {

u8 dtype_of(std::string_view name) {
  static const std::unordered_map<std::string_view, u8> known = [] {
    std::unordered_map<std::string_view, u8> all;
    for (u8 i = 0; !dtype_name(i).empty(); i++) all.emplace(dtype_name(i), i);
    return all;
  }();
  auto it = known.find(name);
  return it == known.end() ? u8(kDtypeUnknown) : it->second;
}

// Iterates over a list. After the last element, and if there is no list, it returns null values.
class Elements {
 public:
  explicit Elements(const Value& list) : left_(list.elements()) {}
  const Value& next() {
    static const Value kNothing{};
    if (!(left_.first != left_.last)) return kNothing;
    const Value& value = *left_.first;
    ++left_.first;
    return value;
  }

 private:
  Value::Range<Value::Element> left_;
};

bool holds_lists(const Value& list) { return Elements(list).next().is_list(); }

i64 size_of(const Value& value) { return value.is_i64() ? value.as_i64() : value.is_u64() ? INT64_MAX : 0; }

bool is_narrow(const Value& list) {
  for (const Value& size : list.elements())
    if (size_of(size) < 0 || size_of(size) > i64(UINT32_MAX)) return false;
  return true;
}

bool whole_number(std::string_view text, i64& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool whole_number(std::string_view text, double& out) {
  std::optional<double> number = read_real(text);
  out = number.value_or(0);
  return number.has_value();
}

}  // namespace

void InputReader::read(Event& event, const Value& dims, const Value& types, const Value& strides, const Value& values) {
  if (!dims.is_list() && !types.is_list()) return;
  u32 count = 0;
  for (const Value* list : {&dims, &types}) count = std::max(count, list->is_list() ? list->size() : 0);
  event.flags |= kEventHasInputs;
  if (count == 0) return;
  if (count > UINT16_MAX) {
    model_.ledger.inputs_cut++;
    count = UINT16_MAX;
  }
  bytes_.clear();
  Elements each_dims(dims), each_type(types), each_strides(strides), each_value(values);
  for (u32 i = 0; i < count; i++)
    add_one(each_dims.next(), text_of(each_type.next()), each_strides.next(), text_of(each_value.next()));
  if (bytes_.size() > UINT32_MAX) return;
  auto it = known_.find(bytes_);
  if (it == known_.end()) {
    const char* kept = model_.arena.copy(bytes_.data(), bytes_.size());
    it = known_.emplace(std::string_view(kept, bytes_.size()), kept).first;
  }
  event.inputs = it->second;
  event.inputs_bytes = u32(bytes_.size());
  event.inputs_count = u16(count);
}

void InputReader::add_head(InputTag tag, u32 count, u8 dtype, u8 flags) {
  add(InputHead{u8(tag), dtype, flags, 0, count});
}

void InputReader::add_one(const Value& dims, std::string_view type, const Value& strides, std::string_view value) {
  if (type == "TensorList" || holds_lists(dims)) {
    u32 count = dims.is_list() ? dims.size() : 0;
    add_head(InputTag::tensor_list, count);
    Elements each_strides(strides);
    for (const Value& one : dims.elements()) add_tensor(one, kDtypeUnknown, each_strides.next());
    return;
  }
  u8 dtype = dtype_of(type);
  if (dtype != kDtypeUnknown || (dims.is_list() && dims.size()))
    add_tensor(dims, dtype, strides);
  else if (type == "Scalar")
    add_scalar(value);
  else if (type == "ScalarList" && add_scalar_list(value))
    return;
  else
    add_head(type.empty() ? InputTag::none : InputTag::other, 0);
}

void InputReader::add_tensor(const Value& dims, u8 dtype, const Value& strides) {
  if (!dims.is_list()) return add_head(InputTag::undefined, 0);
  bool with_strides = strides.is_list() && strides.size() == dims.size();
  bool wide = !is_narrow(dims) || (with_strides && !is_narrow(strides));
  add_head(InputTag::tensor, dims.size(), dtype, u8((wide ? kInputWide : 0) | (with_strides ? 0 : kInputNoStrides)));
  auto add_all = [&](const Value& list) {
    for (const Value& size : list.elements()) wide ? add(size_of(size)) : add(u32(size_of(size)));
  };
  add_all(dims);
  if (with_strides) add_all(strides);
  pad();
}

void InputReader::add_scalar(std::string_view text) {
  i64 integer;
  double number;
  if (text == "True" || text == "False") return add_head(InputTag::boolean, text == "True");
  if (whole_number(text, integer)) {
    add_head(InputTag::integer, 0);
    add(integer);
  } else if (whole_number(text, number)) {
    add_head(InputTag::floating, 0);
    add(number);
  } else {
    add_head(InputTag::other, 0);
  }
}

// "[1, 2]"; false for anything else.
bool InputReader::add_scalar_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> items;
  while (!text.empty()) {
    size_t cut = text.find(", ");
    items.push_back(text.substr(0, cut));
    text = cut == text.npos ? std::string_view() : text.substr(cut + 2);
  }
  auto all = [&](auto fits) { return std::all_of(items.begin(), items.end(), fits); };
  auto count = u32(items.size());
  i64 integer;
  double number;
  if (all([&](auto item) { return whole_number(item, integer); })) {
    add_head(InputTag::integer_list, count);
    for (auto item : items) whole_number(item, integer), add(integer);
  } else if (all([&](auto item) { return whole_number(item, number); })) {
    add_head(InputTag::floating_list, count);
    for (auto item : items) whole_number(item, number), add(number);
  } else if (all([](auto item) { return item == "True" || item == "False"; })) {
    add_head(InputTag::boolean_list, count);
    for (auto item : items) bytes_ += char(item == "True");
    pad();
  } else {
    return false;
  }
  return true;
}

}  // namespace tprof::kineto
