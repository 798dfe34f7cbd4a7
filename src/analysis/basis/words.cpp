#include "analysis/basis/words.h"

#include <algorithm>
#include <string_view>

#include "model/communication.h"

namespace tprof {
namespace {

enum class How : u8 { exact, prefix, part };

struct WordRow {
  Word word;
  How how;
  std::string_view text;
};

constexpr WordRow kRows[] = {
#define WORD(word, how, text) {Word::word, How::how, text},
#include "analysis/basis/words.def"
#undef WORD
};

static_assert(std::ranges::all_of(kRows, [](const WordRow& row) { return u32(row.word) < 64; }),
              "Words has a bit of 64 for each word");

bool matches(const WordRow& row, std::string_view name) {
  switch (row.how) {
    case How::exact: return name == row.text;
    case How::prefix: return name.starts_with(row.text);
    case How::part: return name.find(row.text) != name.npos;
  }
  return false;
}

// Words with many rows are matched against names of kernels only: traces have many names of Python functions.
bool of_kernels(Word word) { return word == Word::communication_kernel || word == Word::local_kernel; }

}  // namespace

Words::Words(const Model& model) : model_(model), bits_(model.names.size()) {
  std::vector<bool> kernel(model.names.size());
  for (const GpuEvent& work : model.gpu)
    if (work.kind() == Kind::kernel) kernel[work.name] = true;
  for (size_t i = 0; i < model.names.size(); i++) {
    for (const WordRow& row : kRows)
      if ((kernel[i] || !of_kernels(row.word)) && matches(row, model.names[i])) bits_[i] |= u64{1} << u32(row.word);
    all_ |= bits_[i];
  }
}

// For an interposed function the recorded family is more reliable than its name.
bool Words::is(const CallEvent& call, Word word) const {
  if (is(call.name, word)) return true;
  switch (static_cast<CallFamily>(call.family)) {
    case CallFamily::launch: return word == Word::launches;
    case CallFamily::copy:
    case CallFamily::set: return word == Word::copies;
    case CallFamily::alloc:
    case CallFamily::free: return word == Word::allocates;
    case CallFamily::sync: return word == Word::synchronises;
    default: return false;
  }
}

Work Words::work(const GpuEvent& event) const {
  if (event.kind() == Kind::copy || event.kind() == Kind::set) return Work::copy;
  if (event.kind() == Kind::kernel && is(event.name, Word::communication_kernel) && !is(event.name, Word::local_kernel))
    return Work::communication;
  if (event.op >= 0 && is(model_.events[event.op], Word::communication_op)) return Work::communication;
  return Work::computation;
}

}  // namespace tprof
