// Autograd: links backward nodes to forward operators by the rules of torch.profiler
// (ThreadLocalSubqueue::materialize and generateForwardBackwardLinks in torch/csrc/profiler/collection.cpp),
// without the pairs that make the TensorBoard plugin drop the whole file (pytorch/kineto#913).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "model/passes.h"
#include "model/python.h"

namespace tprof {
namespace {

bool has_scope(const Event& e, Scope scope) { return e.scope == u8(scope); }

struct Key {
  u64 thread;
  i64 sequence;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& k) const { return (k.thread << 48) ^ (u64(k.sequence) * 0x9e3779b97f4a7c15u); }
};

class Linker {
 public:
  explicit Linker(Model& model) : model_(model), events_(model.events) {
    for (const std::string& name : model.names) {
      bool wrapper = name.starts_with(kEvaluatePrefix);
      kinds_.push_back(!wrapper                                                                            ? plain
                       : name.compare(sizeof kEvaluatePrefix - 1, std::string::npos, kAccumulateGrad) == 0 ? accumulate
                                                                                                           : evaluate);
    }
  }

  // evaluate_function wrappers have no sequence number; torch copies that of the event that begins next.
  void copy_sequences() {
    std::unordered_map<u32, u32> last;  // by OS thread
    for (u32 i = 0; i < events_.size(); i++) {
      Event& e = events_[i];
      if ((e.flags & kEventStep) || is_python(e)) continue;
      auto [it, first] = last.emplace(model_.threads[e.thread].owner, i);
      if (first) continue;
      Event& before = events_[it->second];
      it->second = i;
      if (has_scope(e, Scope::backward) && has_scope(before, Scope::function) && kinds_[before.name] != plain) {
        before.sequence = e.sequence;
        before.forward_thread = e.forward_thread;
      }
    }
  }

  void link() {
    std::vector<u32> order;
    for (u32 i = 0; i < events_.size(); i++)
      if (events_[i].sequence >= 0 && !(events_[i].flags & kEventStep)) order.push_back(i);
    // In order of end; of equal ends the inner one first, since a node must be found before its wrapper.
    std::sort(order.begin(), order.end(), [this](u32 a, u32 b) {
      i64 x = events_[a].end_ns(), y = events_[b].end_ns();
      return x != y ? x < y : a > b;
    });
    std::unordered_map<Key, u32, KeyHash> forward;
    for (u32 i : order) {
      const Event& e = events_[i];
      if (e.forward_thread) {
        auto it = forward.find({e.forward_thread, e.sequence});
        if (it == forward.end()) continue;
        model_.pairs.push_back({it->second, i});
        forward.erase(it);
      } else if (u64 thread = model_.threads[e.thread].torch_thread) {
        auto [it, added] = forward.emplace(Key{thread, e.sequence}, i);
        // The operator that began last is the one that created the backward node.
        if (!added && e.begin_ns >= events_[it->second].begin_ns) it->second = i;
      }
    }
  }

  // The plugin finds backward nodes by their start alone and uses each evaluate_function node once.
  void leave_out_unsafe() {
    size_t found = model_.pairs.size();
    if (found && starts_with_accumulate()) {
      model_.pairs.clear();
      model_.ledger.pairs_why = "the span begins in the middle of a backward pass";
    } else {
      find_roots();
      std::unordered_set<i32> used;
      std::erase_if(model_.pairs, [&](const ForwardBackward& pair) {
        bool safe = true;
        i32 i = i32(pair.backward);
        for (; i >= 0 && kinds_[events_[i].name] == plain; i = events_[i].parent)
          if (roots_[i] >= 0 && ambiguous_.count(events_[i].begin_ns)) safe = false;
        if (i < 0) return !safe;  // no wrapper around it: the plugin ignores it
        bool nested = events_[i].parent >= 0 && roots_[events_[i].parent] >= 0;
        return !safe || nested || kinds_[events_[i].name] == accumulate || !used.insert(i).second;
      });
      if (model_.pairs.size() != found) model_.ledger.pairs_why = "several pairs end in one backward node";
    }
    model_.ledger.pairs = model_.pairs.size();
    model_.ledger.pairs_left_out = found - model_.pairs.size();
  }

 private:
  enum NameKind : u8 { plain, evaluate, accumulate };

  // True if the first wrapper that the plugin meets is an AccumulateGrad (it expects another one before).
  // It walks thread by thread, in order of their first event, and looks only at the top level and inside
  // steps.
  bool starts_with_accumulate() const {
    std::vector<u32> rows;                  // in order of first event
    std::unordered_map<u32, u32> first_of;  // row -> first wrapper
    std::vector<bool> seen(model_.threads.size());
    for (u32 i = 0; i < events_.size(); i++) {
      const Event& e = events_[i];
      if (!seen[e.thread]) rows.push_back(e.thread);
      seen[e.thread] = true;
      if (kinds_[e.name] == plain || first_of.count(e.thread)) continue;
      i32 around = e.parent;
      while (around >= 0 && is_python(events_[around]) && !is_module(events_[around])) around = events_[around].parent;
      if (around >= 0 && !(events_[around].flags & kEventStep)) continue;
      first_of[e.thread] = i;
    }
    for (u32 row : rows) {
      auto it = first_of.find(row);
      if (it != first_of.end()) return kinds_[events_[it->second].name] == accumulate;
    }
    return false;
  }

  // For each event the outermost wrapper around it (or the event itself), -1: none; and the starts that occur in two of
  // them.
  void find_roots() {
    roots_.assign(events_.size(), -1);
    std::unordered_map<i64, i32> root_at;
    for (u32 i = 0; i < events_.size(); i++) {
      const Event& e = events_[i];
      if (e.parent >= 0) roots_[i] = roots_[e.parent];
      if (roots_[i] < 0 && kinds_[e.name] != plain) roots_[i] = i32(i);
      if (roots_[i] < 0) continue;
      auto [it, added] = root_at.emplace(e.begin_ns, roots_[i]);
      if (!added && it->second != roots_[i]) ambiguous_.insert(e.begin_ns);
    }
  }

  Model& model_;
  std::vector<Event>& events_;
  std::vector<NameKind> kinds_;  // by name
  std::vector<i32> roots_;
  std::unordered_set<i64> ambiguous_;
};

}  // namespace

void link_forward_backward(Model& model) {
  Linker linker(model);
  linker.copy_sequences();
  linker.link();
  linker.leave_out_unsafe();
}

}  // namespace tprof
