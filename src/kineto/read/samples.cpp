// Samples of Python stacks, as tprof writes them (kineto/write/stacks.cpp).
#include <algorithm>

#include "kineto/read/state.h"

namespace tprof::kineto {
namespace {

// Ids of frames are keys of an object, and numbers where they are referred to.
std::string id_of(const Value& value) {
  if (value.is_text()) return std::string(value.as_text());
  return value.is_i64() ? std::to_string(value.as_i64()) : "";
}

}  // namespace

void SampleReader::read_frames(const Value& frames) {
  for (auto [id, frame] : frames.members())
    frames_[std::string(id)] = {id_of(member(frame, "parent")), std::string(text_of(member(frame, "name"))),
                                text_of(member(frame, "category")) == "native"};
}

void SampleReader::read_samples(const Value& samples) {
  for (const Value& sample : samples.elements()) {
    std::optional<i64> ns = ns_of(member(sample, "ts")), tid = integer_of(member(sample, "tid"));
    if (!ns || !tid || text_of(member(sample, "name")) != "python") {
      dropped_++;
      continue;
    }
    auto has = [&](const char* key) { return integer_of(member(sample, key)).value_or(0) != 0; };
    u32 flags = has("on_cpu") * kSampleOnCpu | has("gil") * kSampleGil | has("changed") * kSampleChanged |
                has("no_native") * kSampleNoNative | has("not_stopped") * kSampleNotStopped;
    samples_.push_back({*ns, *tid, id_of(member(sample, "sf")), flags});
  }
}

// Callers first. A chain that leads back to itself ends there.
u32 SampleReader::index_of(ReadState& state, const std::string& id) {
  std::vector<Frame*> fresh;
  u32 index = 0;
  for (auto at = frames_.find(id); at != frames_.end() && fresh.size() <= frames_.size();
       at = frames_.find(at->second.parent)) {
    if ((index = at->second.index)) break;
    fresh.push_back(&at->second);
  }
  for (size_t i = fresh.size(); i-- > 0;)
    index = fresh[i]->index = state.stacks.frame(index, fresh[i]->text, fresh[i]->native);
  return index;
}

void SampleReader::finish(ReadState& state) {
  Model& model = state.model;
  for (const Read& r : samples_) {
    StackSample s;
    s.ns = r.ns;
    s.thread = state.rows.thread(model.pid, r.tid);
    s.stack = index_of(state, r.frame);
    s.flags = r.flags;
    model.samples.push_back(s);
  }
  if (dropped_) model.ledger.left_out["samples of another kind"] += dropped_;
  std::stable_sort(model.samples.begin(), model.samples.end(),
                   [](const StackSample& a, const StackSample& b) { return a.ns < b.ns; });
}

}  // namespace tprof::kineto
