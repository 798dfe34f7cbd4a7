#include "model/collectives.h"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/dtypes.h"
#include "model/communication.h"
#include "model/input_cursor.h"

namespace tprof {
namespace {

// How many collectives a group can have started; a mark that states more is damaged.
constexpr i64 kMaxSequence = i64(1) << 60;

struct Operator {
  std::string_view name, collective, label;
  int input, output, peer;
};
constexpr Operator kOperators[] = {
#define COLLECTIVE(name, collective, label, input, output, peer) {name, collective, label, input, output, peer},
#include "model/collectives.def"
#undef COLLECTIVE
};

const Operator* operator_of(std::string_view name) {
  constexpr std::string_view kPrefix = "c10d::";
  if (!name.starts_with(kPrefix)) return nullptr;
  name.remove_prefix(kPrefix.size());
  for (const Operator& op : kOperators)
    if (op.name == name) return &op;
  return nullptr;
}

constexpr std::string_view kReduceScatter = "reduce_scatter";

// Whether torch counts more than one call in the group for it, and not on all ranks alike: a monitored_barrier is made
// of transfers.
bool counts_transfers(std::string_view collective) {
  return is_transfer(collective) || collective == "monitored_barrier";
}

class Finder {
 public:
  Finder(Model& model, const std::vector<GroupMark>& marks, const std::vector<u32>& labels)
      : model_(model), known_labels_(labels.begin(), labels.end()) {
    for (const GroupMark& mark : marks) marks_[mark.address].push_back(mark);
  }

  void run() {
    read_names();
    if (!any_) return;
    find_operators();
    find_labels();
    find_waits();
    number();
    for (Found& f : found_) model_.collectives.push_back(f.collective);
  }

 private:
  struct Found {
    Collective collective;
    u64 group = 0;  // its address
    i64 begin_ns = 0;
    u32 owner = 0;           // the thread that started it; without an operator, that of the label
    bool transfer = false;   // between two ranks, which torch counts differently on each
    std::string_view label;  // that it will have; empty: the operator returns when it is done
    i64 left = -1;           // elements of a reduce_scatter whose labels are still to come; -1 not known
  };

  void read_names() {
    operators_.resize(model_.names.size());
    labels_.resize(model_.names.size());
    for (u32 i = 0; i < model_.names.size(); i++) {
      const std::string& name = model_.names[i];
      operators_[i] = operator_of(name);
      // Labels of NCCL end when its kernels are enqueued.
      labels_[i] = is_backend_label(name) && !name.starts_with("nccl:");
      any_ |= operators_[i] || labels_[i];
    }
  }

  u32 name_index(std::string_view text) {
    if (text.empty()) return 0;
    auto [it, added] = names_.try_emplace(std::string(text), u32(model_.names.size()));
    if (added) model_.names.emplace_back(text);
    return it->second;
  }

  u32 owner_of(const Event& e) const { return model_.threads[e.thread].owner; }

  void find_operators() {
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      const Operator* op = operators_[e.name];
      if (!op || (e.flags & (kEventStep | kEventNvtx | kEventPython))) continue;
      if (e.parent >= 0 && operators_[model_.events[e.parent].name]) continue;  // part of another
      add(i, *op);
    }
  }

  void add(u32 event, const Operator& op) {
    const Event& e = model_.events[event];
    Found f;
    Collective& c = f.collective;
    c.op = event;
    c.name = name_index(op.collective);
    f.begin_ns = e.begin_ns;
    f.owner = owner_of(e);
    f.transfer = is_transfer(op.collective);
    f.label = op.label;
    if (f.label.empty() && !f.transfer) c.wire = event;
    u8 dtype = kDtypeUnknown;
    bool shows_groups = false;  // else its group is not recorded
    InputCursor inputs(e);
    int index = 0;
    for (std::optional<Input> input; (input = inputs.next()); index++) {
      if (index == op.input) c.in_elements = input->elements;
      if (index == op.output) c.out_elements = input->elements;
      if ((index == op.input || index == op.output) && input->dtype != kDtypeUnknown) dtype = input->dtype;
      if (index == op.peer && input->tag == InputTag::integer) c.peer = i32(input->integer);
      shows_groups |= input->tag == InputTag::object;
      if (input->tag == InputTag::object && marks_.count(input->object)) f.group = input->object;
      if (input->tag == InputTag::boolean && c.async < 0 && !f.label.empty()) c.async = input->yes;
    }
    if (dtype != kDtypeUnknown) c.dtype = name_index(dtype_word(dtype));
    if (!f.group && !shows_groups && marks_.size() == 1) f.group = marks_.begin()->first;
    if (f.label == kReduceScatter) f.left = input_of(f);
    by_thread_[f.owner].push_back(u32(found_.size()));
    found_.push_back(std::move(f));
  }

  // Elements of the input of a reduce_scatter; a list of them follows from the output.
  i64 input_of(const Found& f) const {
    const Collective& c = f.collective;
    if (c.in_elements >= 0 || c.out_elements < 0) return c.in_elements;
    const GroupMark* mark = mark_at(f.group, f.begin_ns);
    i64 size = mark ? i64(mark->size) : model_.world_size;
    return size > 0 ? size_or_unknown(double(c.out_elements) * double(size)) : -1;
  }

  // Labels of transfers begin in their operator. Those of gloo's other collectives begin on threads of the process
  // group, which take them in the order in which they were started. Labels without an operator are collectives of their
  // own: torch before 2.0 has no operators for some.
  void find_labels() {
    std::vector<u32> waiting;
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      if (!labels_[e.name] || (e.flags & (kEventStep | kEventNvtx | kEventPython))) continue;
      if (!known_labels_.empty() && !known_labels_.count(i)) continue;
      Found* around = operator_around(e);
      if (!around)
        waiting.push_back(i);
      else if (around->collective.wire == kNone)
        around->collective.wire = i;
    }
    learn_threads(waiting);
    std::list<u32> open;  // operators without a label
    for (u32 i = 0; i < found_.size(); i++)
      if (found_[i].collective.wire == kNone && !found_[i].transfer) open.push_back(i);
    for (u32 i : waiting)
      if (!give_label(i, open)) add_label(i);
  }

  // Gives the label to the first operator that may have it.
  bool give_label(u32 label, std::list<u32>& open) {
    u64 group = thread_group(model_.events[label]);
    for (auto at = open.begin(); at != open.end() && found_[*at].begin_ns <= model_.events[label].begin_ns; ++at) {
      if ((group && found_[*at].group != group) || !may_have(found_[*at], label)) continue;
      if (take(found_[*at], label)) open.erase(at);
      return true;
    }
    return false;
  }

  // True if it was the last label. A reduce_scatter of gloo is an all_reduce for each tensor of its input; the one that
  // ends last shows it.
  bool take(Found& f, u32 label) const {
    const Event& e = model_.events[label];
    Collective& c = f.collective;
    if (c.wire == kNone || model_.events[c.wire].end_ns() < e.end_ns()) c.wire = label;
    i64 elements = sum_of(e).elements;
    if (f.left < 0 || elements <= 0 || !known_labels_.empty()) return true;
    f.left -= elements;
    return f.left <= 0;
  }

  // A thread belongs to one process group: that of a label for which all operators that may have it agree.
  void learn_threads(const std::vector<u32>& labels) {
    constexpr u32 kTries = 64;  // for each thread
    std::map<u32, u32> tries;
    for (u32 i : labels) {
      u32 owner = owner_of(model_.events[i]);
      if (thread_groups_.count(owner) || ++tries[owner] > kTries) continue;
      std::set<u64> groups;
      for (const Found& f : found_)
        if (may_have(f, i)) groups.insert(f.group);
      if (groups.size() == 1) thread_groups_[owner] = *groups.begin();
    }
  }

  u64 thread_group(const Event& label) const {
    auto known = thread_groups_.find(owner_of(label));
    return known == thread_groups_.end() ? 0 : known->second;
  }

  bool may_have(const Found& f, u32 label) const {
    const Event& e = model_.events[label];
    std::string_view word = model_.names[e.name];
    word.remove_prefix(word.find(':') + 1);
    bool part = f.label == kReduceScatter && word == "all_reduce";
    if ((word != f.label && !part) || f.transfer || f.begin_ns > e.begin_ns) return false;
    i64 sent = sum_of(e).elements, expected = part ? f.left : f.collective.in_elements;
    return sent < 0 || expected < 0 || (part ? sent <= expected : sent == expected);
  }

  // All tensors that a label names.
  static Input sum_of(const Event& label) {
    Input sum;
    InputCursor inputs(label);
    for (std::optional<Input> input; (input = inputs.next());) {
      if (input->elements < 0) continue;
      sum.elements = size_or_unknown(double(std::max<i64>(sum.elements, 0)) + double(input->elements));
      if (input->dtype != kDtypeUnknown) sum.dtype = input->dtype;
    }
    return sum;
  }

  void add_label(u32 label) {
    const Event& e = model_.events[label];
    Found f;
    f.collective.wire = label;
    std::string_view word = model_.names[e.name];
    word.remove_prefix(word.find(':') + 1);
    f.transfer = is_transfer(word);
    f.collective.name = name_index(std::string(word));
    Input sent = sum_of(e);
    f.collective.in_elements = sent.elements;
    if (sent.dtype != kDtypeUnknown) f.collective.dtype = name_index(dtype_word(sent.dtype));
    f.begin_ns = e.begin_ns;
    f.owner = owner_of(e);
    f.group = thread_group(e);
    if (!f.group && marks_.size() == 1) f.group = marks_.begin()->first;
    found_.push_back(std::move(f));
  }

  Found* operator_around(const Event& label) {
    auto thread = by_thread_.find(owner_of(label));
    if (thread == by_thread_.end()) return nullptr;
    const std::vector<u32>& all = thread->second;
    auto after = std::upper_bound(all.begin(), all.end(), label.begin_ns,
                                  [&](i64 ns, u32 index) { return ns < found_[index].begin_ns; });
    if (after == all.begin()) return nullptr;
    Found& before = found_[*(after - 1)];
    return label.begin_ns <= model_.events[before.collective.op].end_ns() ? &before : nullptr;
  }

  // Whether the program went on while the collective ran, where no input says it: another operator began meanwhile.
  void find_waits() {
    std::map<u32, std::vector<i64>> begins;  // of operators, by thread
    for (const auto& [owner, indices] : by_thread_) begins[owner];
    for (const Event& e : model_.events) {
      auto thread = begins.find(owner_of(e));
      bool op = e.scope == u8(Scope::function) && !is_collective_op(model_.names[e.name]);
      if (thread != begins.end() && op && !(e.flags & (kEventStep | kEventPython | kEventNvtx)))
        thread->second.push_back(e.begin_ns);
    }
    for (Found& f : found_) {
      Collective& c = f.collective;
      if (c.async >= 0 || c.op == kNone || c.wire == kNone) continue;
      const std::vector<i64>& all = begins[f.owner];
      auto next = std::lower_bound(all.begin(), all.end(), model_.events[c.op].end_ns());
      c.async = next != all.end() && *next < model_.events[c.wire].end_ns();
    }
  }

  // Fills in what the group says, and counts in it.
  void number() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.begin_ns < b.begin_ns; });
    std::map<u64, std::vector<Found*>> by_group;
    std::set<u64> unordered;  // groups with calls that have no place in the order
    for (Found& f : found_) {
      const GroupMark* mark = mark_at(f.group, f.begin_ns);
      if (!mark) continue;
      Collective& c = f.collective;
      c.group = mark->name;
      c.group_description = mark->description;
      c.group_ranks = mark->ranks;
      c.group_size = i32(mark->size);
      fill_sizes(c);
      // A label alone begins some time after its call.
      counts_transfers(model_.names[c.name]) || c.op == kNone ? void(unordered.insert(f.group))
                                                              : by_group[f.group].push_back(&f);
    }
    for (auto& [address, calls] : by_group)
      if (!unordered.count(address)) count(address, calls);
  }

  // The last mark before the call, or the first one.
  const GroupMark* mark_at(u64 address, i64 ns) const {
    auto found = marks_.find(address);
    if (found == marks_.end()) return nullptr;
    const std::vector<GroupMark>& all = found->second;
    auto after =
        std::upper_bound(all.begin(), all.end(), ns, [](i64 limit, const GroupMark& mark) { return limit < mark.ns; });
    return &*(after == all.begin() ? after : after - 1);
  }

  // A list of lists was not recorded, but the other side was.
  void fill_sizes(Collective& c) const {
    const std::string& name = model_.names[c.name];
    if (c.group_size <= 0) return;
    if (c.out_elements < 0 && c.in_elements >= 0 && name.find("gather") != name.npos)
      c.out_elements = size_or_unknown(double(c.in_elements) * c.group_size);
    if (c.in_elements < 0 && c.out_elements >= 0 && name.find("scatter") != name.npos)
      c.in_elements = size_or_unknown(double(c.out_elements) * c.group_size);
  }

  // Torch's own count at some moments tells the number of each call between them. If the calls between two moments are
  // not as many as torch has counted, nothing is numbered.
  void count(u64 address, const std::vector<Found*>& calls) {
    std::vector<GroupMark> marks = marks_[address];
    std::erase_if(marks, [](const GroupMark& mark) { return mark.sequence < 0 || mark.sequence > kMaxSequence; });
    if (marks.empty()) return;
    // A mark before the span tells nothing: calls between it and the span were not seen.
    auto at = std::find_if(marks.begin(), marks.end(), [&](const GroupMark& m) { return m.ns >= model_.begin_ns; });
    if (at == marks.end() || at->ns > model_.end_ns) return;
    auto calls_before = [&](i64 ns) {
      auto at = std::lower_bound(calls.begin(), calls.end(), ns,
                                 [](const Found* f, i64 limit) { return f->begin_ns < limit; });
      return i64(at - calls.begin());
    };
    auto first_by = [&](const GroupMark& mark) { return mark.sequence - calls_before(mark.ns) + 1; };
    i64 first = first_by(*at);
    for (; at != marks.end() && at->ns <= model_.end_ns; ++at)
      if (first_by(*at) != first) return;
    for (size_t i = 0; i < calls.size(); i++) calls[i]->collective.sequence = first + i64(i);
  }

  Model& model_;
  std::set<u32> known_labels_;                   // empty: any may be one
  std::map<u64, std::vector<GroupMark>> marks_;  // by address, in order of time
  std::vector<const Operator*> operators_;       // by name
  std::vector<char> labels_;                     // by name
  bool any_ = false;
  std::unordered_map<std::string, u32> names_;
  std::vector<Found> found_;
  std::map<u32, std::vector<u32>> by_thread_;  // by owner: operators, in order of time
  std::unordered_map<u32, u64> thread_groups_;
};

}  // namespace

void find_collectives(Model& model, const std::vector<GroupMark>& marks, const std::vector<u32>& labels) {
  Finder(model, marks, labels).run();
}

}  // namespace tprof
