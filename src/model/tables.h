// Maps name ids and thread ids of the recording to indices of the Model while it is loaded.
#pragma once
#include <algorithm>
#include <unordered_map>

#include "model/trace.h"

namespace tprof {

constexpr u32 kLostName = 0;  // names[0] stands for every name that the recording does not hold

class NameTable {
 public:
  NameTable(const Meta& meta, Model& model) {
    model.names.reserve(meta.names.size() + 1);
    model.names.push_back("(name lost)");
    ids_.reserve(meta.names.size());
    for (const auto& [id, text] : meta.names) {
      ids_.emplace(id, u32(model.names.size()));
      model.names.push_back(text);
    }
  }
  u32 operator()(u32 id) const {
    auto it = ids_.find(id);
    return it == ids_.end() ? kLostName : it->second;
  }

 private:
  std::unordered_map<u32, u32> ids_;
};

// Sorts the elements (each with an `epoch`) and removes those that the chunks of another window hold, too. Equal
// elements of one epoch are different events. Returns the number of removed elements.
template <class T, class Less>
u64 drop_duplicates_of_epochs(std::vector<T>& all, Less less) {
  std::stable_sort(all.begin(), all.end(), [&](const T& a, const T& b) {
    if (less(a, b)) return true;
    return !less(b, a) && a.epoch < b.epoch;
  });
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); i++) {
    bool same = kept && !less(all[kept - 1], all[i]);
    if (same && all[i].epoch != all[kept - 1].epoch) continue;
    all[kept++] = all[i];
  }
  u64 removed = all.size() - kept;
  all.resize(kept);
  return removed;
}

class ThreadTable {
 public:
  ThreadTable(const Meta& meta, Model& model) : meta_(meta), model_(model) {}

  // The row of the thread, which is added on its first use. `names`: of threads of which the recording knows nothing.
  u32 operator()(u32 tid, const std::map<u32, ThreadInfo>* names = nullptr) {
    auto [it, added] = rows_.emplace(tid, u32(model_.threads.size()));
    if (added) {
      TraceThread thread;
      thread.tid = thread.owner = tid;
      auto known = meta_.threads.find(tid);
      if (known != meta_.threads.end()) {
        thread.torch_thread = known->second.torch_thread;
        thread.name = known->second.name;
      } else if (names) {
        if (auto other = names->find(tid); other != names->end()) thread.name = other->second.name;
      }
      model_.threads.push_back(std::move(thread));
    }
    return it->second;
  }

 private:
  const Meta& meta_;
  Model& model_;
  std::unordered_map<u32, u32> rows_;
};

}  // namespace tprof
