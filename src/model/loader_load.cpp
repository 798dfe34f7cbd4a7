#include "model/loader_load.h"

#include <algorithm>
#include <map>
#include <set>

namespace tprof {
namespace {

// A copy of LoaderNow in which all fields are of one moment.
struct Now {
  u64 since = 0, before_ticks = 0, loader = 0;
  LoaderPart part = LoaderPart::none, before = LoaderPart::none;
  i32 worker = 0;
  u32 workers = 0;
};

// The header is a copy of what a running program may have been changing.
Now now_of(Recording& recording) {
  for (int tries = 0; tries < 5; tries++) {
    const LoaderNow& l = recording.header().loader;
    if (u64 since = l.since_ticks.load())
      return {since,
              l.before_ticks.load(),
              l.loader.load(),
              LoaderPart(l.part.load()),
              LoaderPart(l.before.load()),
              l.worker.load(),
              l.workers.load()};
    if (!l.loader.load()) break;
    recording.refresh();
  }
  return {};
}

class LoaderReader {
 public:
  LoaderReader(Model& model, Recording& leader, const Meta& meta, const SpanRequest& request)
      : model_(model),
        request_(request),
        clock_(clock_of(leader, meta)),
        offset_ns_(clock_.wall_offset_ns(request.begin_ticks) - i64(model.base_time_ns)) {
    leader.for_each_data(request.first_epoch, request.last_epoch, [&](const RecordView& view) {
      if (view.kind() == Kind::loader && view.bytes() >= sizeof(LoaderRecord)) add(view.as<LoaderRecord>(), kNone);
    });
  }

  void read(Recording& worker);
  void finish();

 private:
  // The clocks of processes that run on one machine since its boot are one.
  i64 to_ns(u64 ticks) const { return clock_.monotonic_ns(ticks) + offset_ns_; }
  void add(const LoaderRecord& r, u32 worker);
  void add_open(const Now& now, u32 worker);
  bool is_over(const FileHeader& header, const Now& now) const;

  Model& model_;
  const SpanRequest& request_;
  ClockMap clock_;
  i64 offset_ns_;
  // By event and by worker: LoaderRecord::loader, an iterator.
  std::vector<u64> iterators_, iterator_of_worker_;
  std::map<u64, u64> owner_;  // iterator -> its DataLoader
};

void LoaderReader::add(const LoaderRecord& r, u32 worker) {
  auto part = LoaderPart(r.head.id);
  if (r.head.id == 0 || r.head.id >= kLoaderParts || (worker == kNone) != (part == LoaderPart::draw)) return;
  LoaderEvent e;
  i64 begin = to_ns(r.begin_ticks), end = to_ns(r.end_ticks);
  if (end < begin || end <= model_.begin_ns || begin >= model_.end_ns) return;
  e.begin_ns = std::max(begin, model_.begin_ns);
  e.dur_ns = std::min(end, model_.end_ns) - e.begin_ns;
  if (end <= model_.end_ns) e.whole_ns = end - begin;
  if (part == LoaderPart::fetch) e.collate_ns = i64(double(r.detail) * clock_.rate());
  if (part == LoaderPart::fetch) e.cpu_ns = i64(r.cpu_ns);
  if (part == LoaderPart::draw && r.detail) owner_.emplace(r.loader, r.detail);
  e.worker = worker;
  e.part = part;
  model_.loader.events.push_back(e);
  iterators_.push_back(r.loader);
}

// The part that goes on is in no record.
void LoaderReader::add_open(const Now& now, u32 worker) {
  i64 begin = to_ns(now.since);
  if (begin >= model_.end_ns || now.part == LoaderPart::ended) return;
  LoaderEvent e;
  e.begin_ns = std::max(begin, model_.begin_ns);
  e.dur_ns = model_.end_ns - e.begin_ns;
  e.worker = worker;
  e.part = now.part;
  model_.loader.events.push_back(e);
  iterators_.push_back(now.loader);
}

// Whether all that a helper did was before the span, or is after it.
bool LoaderReader::is_over(const FileHeader& header, const Now& now) const {
  bool later = header.created_ns > model_.base_time_ns + u64(std::max<i64>(model_.end_ns, 0));
  return later || (now.part == LoaderPart::ended && to_ns(now.since) < model_.begin_ns);
}

void LoaderReader::read(Recording& recording) {
  Now now = now_of(recording);
  if (!now.loader || is_over(recording.header(), now)) return;
  auto index = u32(model_.loader.workers.size());
  size_t before = model_.loader.events.size();
  u32 first_epoch = ~0u, last_epoch = 0;  // of windows that overlap the span
  u32 next_epoch = 0;                     // after the window before; flight mode numbers a window anew as it goes on
  for (const WindowInfo& w : recording.read_meta().windows) {
    u32 from = next_epoch;
    if (w.state != WindowState::discarded) next_epoch = 2 * w.number + 1;
    if (w.begin_ticks && to_ns(w.begin_ticks) >= model_.end_ns) continue;
    if (w.end_ticks && to_ns(w.end_ticks) < model_.begin_ns) continue;
    first_epoch = std::min(first_epoch, from);
    last_epoch = std::max(last_epoch, 2 * w.number + 1);
  }
  std::set<u64> known;  // begins of what is recorded; what went on into the next window is there
  recording.for_each_data(first_epoch, last_epoch + 2, [&](const RecordView& view) {
    if (view.kind() != Kind::loader || view.bytes() < sizeof(LoaderRecord)) return;
    add(view.as<LoaderRecord>(), index);
    known.insert(view.as<LoaderRecord>().begin_ticks);
  });
  add_open(now, index);
  // Nor is the one before, if no window was recorded when it ended.
  if (now.before_ticks && !known.count(now.before_ticks))
    add({{0, 0, u32(now.before)}, now.before_ticks, now.since, now.loader, now.worker, now.workers, 0, 0}, index);
  if (model_.loader.events.size() == before) return;
  bool ends = now.part == LoaderPart::ended || recording.writer_alive();
  model_.loader.workers.push_back({0, now.worker, now.workers, recording.header().pid, !ends});
  iterator_of_worker_.push_back(now.loader);
}

// Numbers the loaders and sorts. Iterators of one DataLoader count as one loader if they follow each other.
void LoaderReader::finish() {
  LoaderActivity& out = model_.loader;
  struct Life {
    i64 begin_ns = INT64_MAX, end_ns = INT64_MIN;
    u64 iterator = 0;
  };
  std::map<u64, Life> lives;
  for (size_t i = 0; i < out.events.size(); i++) {
    Life& life = lives[iterators_[i]];
    life.iterator = iterators_[i];
    life.begin_ns = std::min(life.begin_ns, out.events[i].begin_ns);
    life.end_ns = std::max(life.end_ns, out.events[i].end_ns());
  }
  std::vector<Life> order;
  for (const auto& [iterator, life] : lives) order.push_back(life);
  std::sort(order.begin(), order.end(), [](const Life& a, const Life& b) { return a.begin_ns < b.begin_ns; });
  std::map<u64, u32> number;  // of an iterator
  struct Known {
    u32 number;
    i64 end_ns;
  };
  std::map<u64, Known> known;  // by DataLoader
  u32 loaders = 0;
  for (const Life& life : order) {
    auto owner = owner_.find(life.iterator);
    auto before = owner == owner_.end() ? known.end() : known.find(owner->second);
    bool follows = before != known.end() && before->second.end_ns <= life.begin_ns;
    number[life.iterator] = follows ? before->second.number : ++loaders;
    if (owner != owner_.end()) known[owner->second] = {number[life.iterator], life.end_ns};
  }
  for (size_t i = 0; i < out.events.size(); i++) out.events[i].loader = number[iterators_[i]];
  for (size_t i = 0; i < out.workers.size(); i++) out.workers[i].loader = number[iterator_of_worker_[i]];
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const LoaderEvent& a, const LoaderEvent& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace

bool is_helper_of(const FileHeader& helper, u32 pid, u64 created_ns, const std::string& boot_id) {
  return helper.role == u32(Role::helper) && helper.parent_pid == pid && helper.created_ns >= created_ns &&
         boot_id == helper.boot_id;
}

void load_loaders(Model& model, Recording& leader, const Meta& meta, const SpanRequest& request,
                  const std::vector<std::unique_ptr<Recording>>& helpers) {
  LoaderReader reader(model, leader, meta, request);
  for (const auto& helper : helpers) reader.read(*helper);
  reader.finish();
}

}  // namespace tprof
