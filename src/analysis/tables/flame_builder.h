// Builds a flame graph's tree: finds the node of a context, and gives costs to it.
#pragma once
#include <map>
#include <unordered_map>

#include "analysis/tables/flame.h"

namespace tprof {

class FlameBuilder {
 public:
  FlameBuilder(const Model& model, FlameSource source);

  // The node of a thread (an index into Model::threads; kNone: not known).
  i32 root(u32 thread);
  // The node of that name below a node. `name`: an index into Model::names.
  i32 child(i32 parent, u32 name, FlameKind kind);
  // The node of a call stack (an index into Model::stacks) of a thread.
  i32 stack(u32 thread, u32 frame);
  // What is in no context of the source. `what` is its name.
  i32 outside(u32 thread, const char* what);

  void add(i32 node, FlameCost cost, double value) { out_.nodes[size_t(node)].self[size_t(cost)] += value; }
  void is_known(FlameCost cost, bool known = true) { out_.known[size_t(cost)] |= known; }
  FlameTree& tree() { return out_; }
  // Sums up; threads without any cost are left out.
  FlameTree finish();

 private:
  i32 named(i32 parent, const std::string& name, FlameKind kind);

  struct Key {
    i32 parent;
    u32 name;  // index into texts_
    FlameKind kind;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const {
      return std::hash<u64>()((u64(u32(k.parent)) << 32 | k.name) * 31 + u64(k.kind));
    }
  };

  const Model& model_;
  FlameTree out_;
  std::unordered_map<std::string, u32> texts_;
  std::vector<u32> text_of_name_;
  std::unordered_map<Key, i32, Hash> places_;
  std::map<u32, i32> roots_;                // by tid of the owner
  std::unordered_map<u64, i32> of_stacks_;  // by root and frame
};

}  // namespace tprof
