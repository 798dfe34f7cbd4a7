#include "live/line_samples.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "record/companion.h"
#include "symbols/line_table.h"

namespace tprof::live {
namespace {

constexpr u64 kSlot_ns = 1'000'000'000;
constexpr u32 kMaxFrames = 1 << 20;  // as many as the sampler writes
constexpr u32 kMaxDepth = 1024;

}  // namespace

std::unique_ptr<LineSamples> LineSamples::open(const Recording& recording, u64 since_ns) {
  std::string path = samples_of(recording.path());
  if (access(path.c_str(), R_OK) != 0) return nullptr;
  try {
    auto file = Recording::open(path);
    if (file->is_folded() || !is_companion(file->header(), recording.header())) return nullptr;
    return std::unique_ptr<LineSamples>(new LineSamples(std::move(file), since_ns));
  } catch (const Error&) {  // it is just being made
    return nullptr;
  }
}

LineSamples::LineSamples(std::unique_ptr<Recording> file, u64 since_ns)
    : file_(std::move(file)), chunks_(*file_, [since_ns] { return since_ns; }), names_(*file_) {}

void LineSamples::add_meta(const RecordView& view) {
  switch (view.kind()) {
    case Kind::name: names_.add(view); break;
    case Kind::stack: {
      u32 id = view.record->id;
      if (id >= kMaxFrames) break;
      if (id >= stacks_.size()) stacks_.resize(id + 1);
      stacks_[id] = view.as<StackRecord>();
      break;
    }
    case Kind::code: {
      const auto& r = view.as<CodeRecord>();
      const char* table = reinterpret_cast<const char*>(&r + 1);
      if (sizeof r + r.table_bytes <= view.bytes())
        codes_[r.head.id] = {r.name, r.file, r.first_line, r.python, std::string(table, r.table_bytes)};
      break;
    }
    case Kind::info: {
      const char* key = reinterpret_cast<const char*>(view.record + 1);
      size_t room = view.bytes() - sizeof(RecordHead), length = strnlen(key, room);
      if (length == room) break;
      std::string value(key + length + 1, strnlen(key + length + 1, room - length - 1));
      if (!strcmp(key, kSamplesWhyNot)) why_not_ = value;
      break;
    }
    default: break;
  }
}

// Code and line as one number; 0: no line of Python.
u64 LineSamples::line_key(const StackRecord& frame) {
  if (frame.code == 0 || frame.code == kStackCut) return 0;
  auto code = codes_.find(frame.code);
  i32 line = code == codes_.end() ? kNoLine : line_of(code->second, frame.at & ~kStackEntered);
  return u64(frame.code) << 32 | u32(line);
}

void LineSamples::add_sample(const SampleRecord& sample) {
  bool main = sample.head.id == file_->header().pid;
  if (!main && !(sample.flags & kSampleOnCpu)) return;
  all_samples_.add(kSlot_ns, sample.ns, 0, {0, 0, 1});
  std::vector<u64> on_stack;
  u32 id = sample.stack.python;
  for (u32 depth = 0; id != 0 && id < stacks_.size() && depth < kMaxDepth; depth++) {
    if (u64 key = line_key(stacks_[id])) on_stack.push_back(key);
    u32 parent = stacks_[id].parent;
    id = parent < id ? parent : 0;
  }
  if (on_stack.empty()) return;
  sums_.add(kSlot_ns, sample.ns, on_stack.front(), {1, 0, 0});
  std::sort(on_stack.begin(), on_stack.end());
  on_stack.erase(std::unique(on_stack.begin(), on_stack.end()), on_stack.end());
  for (u64 key : on_stack) sums_.add(kSlot_ns, sample.ns, key, {0, 1, 0});
}

void LineSamples::look() {
  try {
    file_->refresh();
  } catch (const Error&) {  // it was cut off
    return;
  }
  chunks_.look([this](const RecordView& view) { add_meta(view); },
               [this](const RecordView& view) {
                 if (view.kind() == Kind::sample) add_sample(view.as<SampleRecord>());
               });
}

std::vector<SampledLine> LineSamples::lines(size_t most) {
  std::vector<std::pair<u64, Sum>> sums;
  for (const auto& [key, sum] : sums_.sums()) sums.emplace_back(key, sum);
  std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    if (a.second.self != b.second.self) return a.second.self > b.second.self;
    return a.second.total != b.second.total ? a.second.total > b.second.total : a.first < b.first;
  });
  if (sums.size() > most) sums.resize(most);
  std::vector<SampledLine> out;
  for (const auto& [key, sum] : sums) {
    SampledLine line{"", "", i32(u32(key)), sum.self, sum.total};
    auto code = codes_.find(u32(key >> 32));
    if (code != codes_.end()) {
      line.file = names_(code->second.file);
      line.function = names_(code->second.name);
    }
    out.push_back(std::move(line));
  }
  return out;
}

u64 LineSamples::samples() const {
  u64 count = 0;
  for (const auto& [key, sum] : all_samples_.sums()) count += sum.calls;
  return count;
}

}  // namespace tprof::live
