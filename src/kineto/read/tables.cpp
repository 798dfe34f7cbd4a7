#include "kineto/read/tables.h"

#include "kineto/names.h"
#include "kineto/read/repair.h"

namespace tprof::kineto {

NameIndex::NameIndex(Model& model) : model_(model), known_(1024, Hash{this}, Equal{this}) {
  model_.names.push_back("(no name)");
}

u32 NameIndex::operator()(std::string_view text) {
  sought_ = text;
  auto it = known_.find(kSought);
  if (it != known_.end()) return *it;
  std::string repaired = repaired_utf8(text);
  if (!repaired.empty()) {
    model_.ledger.repaired["bad_utf8"]++;
    return (*this)(repaired);
  }
  auto index = u32(model_.names.size());
  model_.names.emplace_back(text);
  known_.insert(index);
  return index;
}

i64 RowIndex::number(const Value& value) {
  if (value.is_i64()) return value.as_i64();
  if (value.is_null()) return 0;
  std::optional<i64> integer = integer_of(value);
  if (integer) return *integer;
  u32 name = names_(text_of(value));
  i64 made = -(i64(1) << 40) - name;
  texts_.emplace(made, name);
  return made;
}

i64 RowIndex::stream_number(const Value& value) {
  std::string_view text = text_of(value);
  i64 stream;
  if (text.starts_with(kStreamRow) &&
      std::from_chars(text.data() + kStreamRow.size(), text.data() + text.size(), stream).ec == std::errc())
    return stream;
  return number(value);
}

u32 RowIndex::thread(i64 pid, i64 tid) {
  Key key{pid, tid};
  if (key == last_) return last_row_;
  auto [it, added] = rows_.emplace(key, u32(model_.threads.size()));
  if (added) {
    if (model_.threads.empty() && pid > 0 && pid <= UINT32_MAX) model_.pid = u32(pid);
    bool fits = tid >= 0 && tid < i64(kNone) && !taken_.count(u32(tid));
    TraceThread thread;
    thread.owner = tid >= 0 && tid < i64(kNone) ? u32(tid) : 0;
    thread.tid = fits ? u32(tid) : 0xf0000000 + texts_as_tids_++;
    taken_.insert(thread.tid);
    model_.threads.push_back(thread);
  }
  last_ = key;
  return last_row_ = it->second;
}

void RowIndex::name_all() {
  auto process = processes_.find(model_.pid);
  model_.process_name = process == processes_.end() ? "" : process->second;
  for (const auto& [key, row] : rows_) {
    TraceThread& thread = model_.threads[row];
    auto it = titles_.find(key);
    std::string_view title = it == titles_.end() ? "" : std::string_view(it->second);
    // "thread 17 (python)": the number is the OS thread id, also on the row of a lane.
    u32 owner = 0;
    if (title.starts_with("thread ") &&
        std::from_chars(title.data() + 7, title.data() + title.size(), owner).ec == std::errc()) {
      if (thread.tid >= kFirstLaneTid) thread.owner = owner;
      size_t open = title.find('('), close = title.rfind(')');
      if (open != title.npos && close != title.npos && close > open) title = title.substr(open + 1, close - open - 1);
    }
    if (title.empty()) title = texts_.count(key.second) ? std::string_view(model_.names[texts_[key.second]]) : "";
    thread.name = title;
  }
}

StackIndex::StackIndex(Model& model, NameIndex& names) : model_(model), names_(names) { model_.stacks.push_back({}); }

u32 StackIndex::operator()(std::string_view text) {
  if (text.empty()) return 0;
  if (text == last_) return last_stack_;
  last_ = text;
  auto [it, added] = known_.emplace(last_, 0);
  if (!added) return last_stack_ = it->second;
  u32 stack = 0;
  while (!text.empty()) {  // from the outermost
    size_t cut = text.rfind(';');
    std::string_view frame = cut == text.npos ? text : text.substr(cut + 1);
    text = cut == text.npos ? std::string_view() : text.substr(0, cut);
    if (frame.empty()) continue;
    stack = this->frame(stack, frame);
  }
  return last_stack_ = it->second = stack;
}

u32 StackIndex::frame(u32 caller, std::string_view text, bool native) {
  u32 name = names_(text);
  auto [known, added] = frames_.emplace(u64(caller) << 32 | name, u32(model_.stacks.size()));
  if (added) model_.stacks.push_back({caller, name});
  model_.stacks[known->second].native |= native;  // a "Call stack" does not say what its frames are
  return known->second;
}

}  // namespace tprof::kineto
