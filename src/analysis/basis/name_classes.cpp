#include "analysis/basis/name_classes.h"

#include <algorithm>
#include <string_view>

#include "model/communication.h"

namespace tprof {
namespace {

enum class How : u8 { exact, prefix, part };

struct NameRow {
  NameClass name_class;
  How how;
  std::string_view text;
};

constexpr NameRow kRows[] = {
#define NAME(name_class, how, text) {NameClass::name_class, How::how, text},
#include "analysis/basis/name_classes.def"
#undef NAME
};

static_assert(std::ranges::all_of(kRows, [](const NameRow& row) { return u32(row.name_class) < 64; }),
              "NameClasses has a bit of 64 for each class");

bool matches(const NameRow& row, std::string_view name) {
  switch (row.how) {
    case How::exact: return name == row.text;
    case How::prefix: return name.starts_with(row.text);
    case How::part: return name.find(row.text) != name.npos;
  }
  return false;
}

// Classes with many rows are matched against names of kernels only: traces have many names of Python functions.
bool of_kernels(NameClass name_class) {
  return name_class == NameClass::communication_kernel || name_class == NameClass::local_kernel ||
         name_class == NameClass::half_kernel;
}

}  // namespace

bool is_in_class(std::string_view name, NameClass name_class) {
  return std::ranges::any_of(kRows,
                             [=](const NameRow& row) { return row.name_class == name_class && matches(row, name); });
}

NameClasses::NameClasses(const Model& model) : model_(model), bits_(model.names.size()) {
  std::vector<bool> kernel(model.names.size());
  for (const GpuEvent& work : model.gpu)
    if (work.kind() == Kind::kernel) kernel[work.name] = true;
  for (size_t i = 0; i < model.names.size(); i++) {
    for (const NameRow& row : kRows)
      if ((kernel[i] || !of_kernels(row.name_class)) && matches(row, model.names[i]))
        bits_[i] |= u64{1} << u32(row.name_class);
    all_ |= bits_[i];
  }
}

// For an interposed function the recorded family is more reliable than its name.
bool NameClasses::is(const CallEvent& call, NameClass name_class) const {
  if (is(call.name, name_class)) return true;
  switch (static_cast<CallFamily>(call.family)) {
    case CallFamily::launch: return name_class == NameClass::launches;
    case CallFamily::copy:
    case CallFamily::set: return name_class == NameClass::copies;
    case CallFamily::alloc:
    case CallFamily::free: return name_class == NameClass::allocates;
    case CallFamily::sync: return name_class == NameClass::synchronises;
    default: return false;
  }
}

Work NameClasses::work(const GpuEvent& event) const {
  if (event.kind() == Kind::copy || event.kind() == Kind::set) return Work::copy;
  if (event.kind() == Kind::kernel && is(event.name, NameClass::communication_kernel) &&
      !is(event.name, NameClass::local_kernel))
    return Work::communication;
  if (event.op >= 0 && is(model_.events[event.op], NameClass::communication_op)) return Work::communication;
  return Work::computation;
}

}  // namespace tprof
