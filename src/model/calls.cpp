#include "model/calls.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "model/tables.h"

namespace tprof {
namespace {

constexpr i64 kClocksNs = 1000;  // maximum difference between CUPTI's times of a call and those of tprof

// Removes "_v" and at least `digits` digits at the end.
void strip_version(std::string& name, size_t digits) {
  size_t at = name.find_last_not_of("0123456789");
  if (at == std::string::npos || at < 2 || name.size() - at - 1 < digits) return;
  if (name[at] == 'v' && name[at - 1] == '_') name.resize(at - 1);
}

auto in_order_of_time = [](const CallEvent& a, const CallEvent& b) {
  return std::tie(a.begin_ns, a.thread, a.correlation) < std::tie(b.begin_ns, b.thread, b.correlation);
};

}  // namespace

std::string shown_function(const std::string& name) {
  std::string out = name;
  strip_version(out, 4);
  return out;
}

std::string plain_function(const std::string& name) {
  std::string out = shown_function(name);
  for (const char* suffix : {"_ptsz", "_ptds"})
    if (out.ends_with(suffix)) out.resize(out.size() - strlen(suffix));
  strip_version(out, 1);
  return out;
}

u32 CallMerger::plain_name(u32 name) {
  if (plain_.size() <= name) plain_.resize(model_.names.size());
  if (!plain_[name]) {
    auto [it, added] = plain_names_.emplace(plain_function(model_.names[name]), u32(plain_names_.size()));
    plain_[name] = 1 + it->second;
  }
  return plain_[name];
}

void CallMerger::drop_duplicates() {
  auto key = [](const FromCupti& c) {
    return std::tie(c.call.begin_ns, c.call.thread, c.call.correlation, c.call.cbid, c.call.dur_ns);
  };
  model_.ledger.gpu.duplicates +=
      drop_duplicates_of_epochs(cupti_, [&](const FromCupti& a, const FromCupti& b) { return key(a) < key(b); });
}

// Removes the driver calls that have the correlation of a runtime call.
void CallMerger::drop_inner() {
  struct Key {
    u32 correlation;
    i64 begin_ns;
    bool driver;
    auto operator<=>(const Key&) const = default;
  };
  auto key_of = [](const CallEvent& c) { return Key{c.correlation, c.begin_ns, c.is_driver()}; };
  std::vector<Key> all;
  for (const FromCupti& c : cupti_)
    if (c.call.correlation) all.push_back(key_of(c.call));
  std::sort(all.begin(), all.end());
  size_t before = cupti_.size();
  std::erase_if(cupti_, [&](const FromCupti& c) {
    if (!c.call.is_driver() || !c.call.correlation) return false;
    // Correlations repeat after 2^32 calls, so the runtime call of this one must have begun shortly before it.
    auto it = std::lower_bound(all.begin(), all.end(), key_of(c.call));
    constexpr i64 kLongestCallNs = 3'600'000'000'000;
    return it != all.begin() && it[-1].correlation == c.call.correlation &&
           c.call.begin_ns - it[-1].begin_ns < kLongestCallNs;
  });
  model_.ledger.gpu.inner_calls += before - cupti_.size();
}

// Merges the calls of one thread and one function, both in order of time.
void CallMerger::merge_thread(std::vector<CallEvent*>& ours, std::vector<FromCupti*>& cupti,
                              std::vector<CallEvent>& out) {
  size_t next = 0;
  for (size_t i = 0; i < ours.size(); i++) {
    CallEvent& call = *ours[i];
    auto middle = [&] { return cupti[next]->call.begin_ns + cupti[next]->call.dur_ns / 2; };
    while (next < cupti.size() && middle() < call.begin_ns - kClocksNs) out.push_back(cupti[next++]->call);
    bool mine = next < cupti.size() && middle() <= call.end_ns() + kClocksNs;
    // Between two interposed calls: it belongs to the nearer one.
    if (mine && middle() > call.end_ns() && i + 1 < ours.size())
      mine = middle() - call.end_ns() < ours[i + 1]->begin_ns - middle();
    if (mine) {
      const CallEvent& seen = cupti[next++]->call;
      call.begin_ns = seen.begin_ns;
      call.dur_ns = seen.dur_ns;
      call.correlation = seen.correlation;
      call.cbid = seen.cbid;
      if (!call.result) call.result = seen.result;
      call.seen |= kSeenByCupti;
      call.unfinished = false;
    }
    out.push_back(call);
  }
  for (; next < cupti.size(); next++) out.push_back(cupti[next]->call);
}

std::vector<CallEvent> CallMerger::merge() {
  drop_duplicates();
  drop_inner();
  std::stable_sort(ours_.begin(), ours_.end(), in_order_of_time);
  struct Group {
    std::vector<CallEvent*> ours;
    std::vector<FromCupti*> cupti;
  };
  std::map<std::pair<u32, u32>, Group> groups;  // by thread and function
  for (CallEvent& c : ours_) groups[{c.thread, plain_name(c.name)}].ours.push_back(&c);
  for (FromCupti& c : cupti_) groups[{c.call.thread, plain_name(c.call.name)}].cupti.push_back(&c);
  std::vector<CallEvent> out;
  out.reserve(ours_.size() + cupti_.size());
  for (auto& [key, group] : groups) merge_thread(group.ours, group.cupti, out);
  std::stable_sort(out.begin(), out.end(), in_order_of_time);
  ours_.clear();
  cupti_.clear();
  return out;
}

}  // namespace tprof
