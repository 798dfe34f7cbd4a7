#include "analysis/basis/timeline.h"

#include "analysis/basis/windows.h"

namespace tprof {

std::vector<TimelineRange> timeline(const Model& model, const OpTree& tree) {
  std::vector<TimelineRange> out;
  std::vector<i32> place(tree.nodes.size(), -1);
  bool plugin = tree.rules == RuleSet::plugin;
  u32 main = plugin || tree.nodes.empty() ? 0 : main_thread_of(model);
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    if (plugin && i && node.parent < 0) break;  // the first thread's tree ends here
    i32 parent = node.parent < 0 ? -1 : place[size_t(node.parent)];
    place[i] = parent;
    bool is_drawn = plugin || (node.thread == main && node.kind != NodeKind::call && node.kind != NodeKind::python);
    if (!is_drawn) continue;
    place[i] = i32(out.size());
    std::string name = plugin ? node_name(model, node) : model.names[node.name];
    out.push_back({name, node.kind, parent, node.begin_ns, node.end_ns});
  }
  return out;
}

}  // namespace tprof
