// Maps texts, rows and call stacks of a trace to indices of the Model while it is read.
#pragma once
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "kineto/read/values.h"
#include "model/trace.h"

namespace tprof::kineto {

class NameIndex {
 public:
  explicit NameIndex(Model& model);
  NameIndex(const NameIndex&) = delete;
  u32 operator()(std::string_view text);

 private:
  static constexpr u32 kSought = ~u32(0);  // stands for sought_, for which the library of g++ 10 cannot ask a set

  struct Hash {
    const NameIndex* names;
    size_t operator()(u32 i) const { return std::hash<std::string_view>()(names->text(i)); }
  };
  struct Equal {
    const NameIndex* names;
    bool operator()(u32 a, u32 b) const { return names->text(a) == names->text(b); }
  };

  std::string_view text(u32 i) const { return i == kSought ? sought_ : model_.names[i]; }

  Model& model_;
  std::string_view sought_;
  std::unordered_set<u32, Hash, Equal> known_;
};

// Numbers of processes and threads, which traces write as numbers, as digits in quotes, or as other texts.
class RowIndex {
 public:
  RowIndex(Model& model, NameIndex& names) : model_(model), names_(names) {}

  // The number of a value; other texts than digits get negative ones.
  i64 number(const Value& value);
  // Like number(), but also reads "stream 7" as 7.
  i64 stream_number(const Value& value);

  // The Model's row of a thread of the process.
  u32 thread(i64 pid, i64 tid);
  // From a metadata event: the name of the row ("thread 17 (python)").
  void name_thread(i64 pid, i64 tid, std::string_view name) { titles_[{pid, tid}] = name; }
  void name_process(i64 pid, std::string_view name) { processes_[pid] = name; }
  void name_all();

 private:
  using Key = std::pair<i64, i64>;

  Model& model_;
  NameIndex& names_;
  std::map<Key, u32> rows_;
  std::map<Key, std::string> titles_;
  std::map<i64, std::string> processes_;
  std::unordered_set<u32> taken_;  // tids of Model::threads
  std::map<i64, u32> texts_;       // numbers that were made for texts -> index of the text
  Key last_{INT64_MIN, INT64_MIN};
  u32 last_row_ = 0, texts_as_tids_ = 0;
};

// "innermost;...;outermost" -> Model::stacks.
class StackIndex {
 public:
  StackIndex(Model& model, NameIndex& names);
  u32 operator()(std::string_view text);
  // A frame with this caller.
  u32 frame(u32 caller, std::string_view text, bool native = false);

 private:
  Model& model_;
  NameIndex& names_;
  std::unordered_map<std::string, u32> known_;
  std::unordered_map<u64, u32> frames_;  // parent << 32 | text
  std::string last_;
  u32 last_stack_ = 0;
};

}  // namespace tprof::kineto
