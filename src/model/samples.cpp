#include "model/samples.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/options.h"
#include "record/companion.h"

namespace tprof {
namespace {

constexpr i64 kEndedEarly_ns = 1'000'000'000;  // what a busy machine makes the sampler late, at most

std::string seconds_text(i64 ns) {
  char text[32];
  snprintf(text, sizeof text, "%.1f s", double(ns) / 1e9);
  return text;
}

class SampleLoader {
 public:
  SampleLoader(Recording& file, const Meta& meta, i64 offset_ns, Model& model, FrameTable& frames, ThreadTable& threads)
      : file_(file),
        meta_(meta),
        offset_ns_(offset_ns),
        model_(model),
        threads_(threads),
        stacks_(meta, model, frames) {}

  void load() {
    Ledger before = model_.ledger;  // stacks that are cut or lost are counted per sample
    file_.for_each_data(0, 0xffffffff, [&](const RecordView& view) {
      if (view.kind() == Kind::sample) add(view.as<SampleRecord>());
      if (view.kind() == Kind::sample_round) add(view.as<SampleRoundRecord>());
    });
    model_.ledger = std::move(before);
    std::stable_sort(model_.samples.begin(), model_.samples.end(),
                     [](const StackSample& a, const StackSample& b) { return a.ns < b.ns; });
  }

 private:
  bool in_span(u64 ns, i64& out) const {
    out = i64(ns + u64(offset_ns_));
    return out >= model_.begin_ns && out < model_.end_ns;
  }

  void add(const SampleRecord& r) {
    StackSample s;
    if (!in_span(r.ns, s.ns)) return;
    s.thread = threads_(r.head.id, &meta_.threads);
    s.stack = stacks_(r.stack);
    s.flags = r.flags;
    Sampled& sampled = model_.sampled;
    sampled.lost += s.stack == 0 || r.stack.python == kStackLost || r.stack.native == kStackLost;
    sampled.changed += (r.flags & kSampleChanged) != 0;
    sampled.no_native += (r.flags & kSampleNoNative) != 0;
    sampled.not_stopped += (r.flags & kSampleNotStopped) != 0;
    sampled.stops += r.stopped_ns != 0;
    sampled.stopped_ns += r.stopped_ns;
    sampled.longest_ns = std::max<u64>(sampled.longest_ns, r.stopped_ns);
    model_.samples.push_back(s);
  }

  void add(const SampleRoundRecord& r) {
    i64 ns;
    if (!in_span(r.ns, ns)) return;
    Sampled& s = model_.sampled;
    s.looks++;
    s.missed += r.missed;
    if (r.unread == kAllUnread)
      s.failed++;
    else
      s.unread += r.unread;
  }

  Recording& file_;
  const Meta& meta_;
  const i64 offset_ns_;
  Model& model_;
  ThreadTable& threads_;
  StackTable stacks_;
};

}  // namespace

Damage load_samples(const Recording& recording, const Meta& meta, i64 from_monotonic_ns, Model& model,
                    FrameTable& frames, ThreadTable& threads) {
  Sampling asked;
  OptionError ignored;
  bool wanted = parse_sampling(meta.option("sample").c_str(), asked, ignored) && asked;
  std::string path = samples_of(recording.path());
  if (recording.is_folded() || !wanted) return {};
  Sampled& s = model.sampled;
  s.hz = asked.hz;
  if (access(path.c_str(), F_OK) != 0) {
    s.why_not = "there is no file with samples beside the recording";
    return {};
  }
  try {
    auto file = Recording::open(path);
    if (!is_companion(file->header(), recording.header())) {
      s.why_not = path + " is of another program";
      return {};
    }
    Meta own = file->read_meta();
    auto info = [&](const char* key) {
      auto known = own.info.find(key);
      return known == own.info.end() ? std::string() : known->second;
    };
    s.why_not = info(kSamplesWhyNot);
    s.why_no_native = info(kSamplesWhyNoNative);
    if (file->header().stopped.load()) s.why_not = "there was no more room for samples";
    s.knows_gil = !info(kSamplesGil).empty();
    s.cpu_ns = file->header().own_ticks.load();
    SampleLoader(*file, own, from_monotonic_ns, model, frames, threads).load();
    i64 until_ns = i64(file->header().sampled_until_ns.load() + u64(from_monotonic_ns));
    if (s.why_not.empty() && until_ns < model.end_ns - kEndedEarly_ns)
      s.why_not = "the sampler ended, or was late: there are none of the last " +
                  seconds_text(model.end_ns - std::max(until_ns, model.begin_ns));
    return file->damage();
  } catch (const Error& e) {
    s.why_not = e.what();
    return {};
  }
}

}  // namespace tprof
