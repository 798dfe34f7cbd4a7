#include "export/memory_viz.h"

#include <algorithm>
#include <map>

#include "analysis/basis/frame_text.h"
#include "analysis/tables/operators.h"
#include "base/error.h"
#include "export/pickle.h"

namespace tprof {
namespace {

constexpr size_t kMostFrames = 1000;  // of an event, innermost

u64 size_of(const MemoryEvent& event) { return event.bytes < 0 ? 0 - u64(event.bytes) : u64(event.bytes); }

const char* word_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::label: return "label";
    case NodeKind::step: return "step";
    case NodeKind::call: return "call";
    case NodeKind::module: return "module";
    default: return "operator";
  }
}

// The frames of events. Equal ones are one object of the pickle.
class SnapshotFrames {
 public:
  SnapshotFrames(const Model& model, Pickle& pickle)
      : model_(model),
        pickle_(pickle),
        tree_(build_op_tree(model, PythonNodes::all)),
        stack_of_node_(call_stacks(model, tree_)) {}

  // The list of frames of Model::memory[i].
  void put(u32 i) {
    i32 node = tree_.of_memory[i];
    u32 stack = model_.memory[i].stack;
    if (!stack && node >= 0) stack = stack_of_node_[size_t(node)];
    auto known = lists_.find({node, stack});
    if (known != lists_.end()) return pickle_.again(known->second);
    std::vector<Frame> frames = frames_of(node, stack);
    size_t shown = std::min(frames.size(), kMostFrames);
    pickle_.list(shown + (shown < frames.size()), [&](u64 at) {
      if (at < shown)
        put_frame(frames[at]);
      else
        put_frame("(" + std::to_string(frames.size() - shown) + " more)", "", 0);
    });
    lists_[{node, stack}] = pickle_.remember();
  }

 private:
  // kind nullptr: a Python or native function, whose name holds its file and line.
  struct Frame {
    u32 name;
    const char* kind;
    bool native;
    auto operator<=>(const Frame&) const = default;
  };

  std::vector<Frame> frames_of(i32 node, u32 stack) const {
    std::vector<Frame> frames;
    for (i32 at = node; at >= 0; at = tree_.nodes[size_t(at)].parent) {
      const OpNode& one = tree_.nodes[size_t(at)];
      if (one.kind != NodeKind::python)
        frames.push_back({one.name, word_of(one.kind), false});
      else if (!stack)
        frames.push_back({one.name, nullptr, false});
    }
    for (u32 at = stack; at; at = model_.stacks[at].parent)
      frames.push_back({model_.stacks[at].text, nullptr, model_.stacks[at].native});
    return frames;
  }

  void put_frame(const Frame& frame) {
    auto known = frames_.find(frame);
    if (known != frames_.end()) return pickle_.again(known->second);
    const std::string& text = model_.names[frame.name];
    FramePlace place = frame.kind ? FramePlace{text, frame.kind} : place_of_frame(text, frame.native);
    if (place.file.empty()) place.file = frame.native ? "native" : "python";
    put_frame(place.function, place.file, std::max<i64>(place.line, 0));
    frames_[frame] = pickle_.remember();
  }
  void put_frame(const std::string& name, const std::string& file, i64 line) {
    pickle_.dict(3, [&](u64 key) {
      pickle_.text(key == 0 ? "name" : key == 1 ? "filename" : "line");
      if (key == 2)
        pickle_.number(line);
      else
        pickle_.text(key == 0 ? name : file);
    });
  }

  const Model& model_;
  Pickle& pickle_;
  const OpTree tree_;
  const std::vector<u32> stack_of_node_;
  std::map<std::pair<i32, u32>, u32> lists_;  // by node and stack
  std::map<Frame, u32> frames_;
};

// Memory of one device.
struct DeviceMemory {
  std::string name;
  std::vector<u32> events;   // indices into Model::memory
  std::map<u64, u32> alive;  // at the end, by address: its allocation
};

struct AddressRange {
  u64 begin, end;
};

struct SnapshotBlock {
  u64 bytes;
  u32 event = kNone;  // its allocation, kNone: free
};

class SnapshotWriter {
 public:
  SnapshotWriter(const Model& model, kineto::OutputFile& out) : model_(model), pickle_(out), frames_(model, pickle_) {}

  MemoryVizCounts write() {
    sort_events();
    if (devices_.empty())
      throw Error(Fault::unreadable, "its memory events have no addresses (torch before 1.10), which a snapshot needs");
    for (const DeviceMemory& device : devices_) counts_.devices.push_back(device.name);
    std::vector<std::pair<u32, AddressRange>> segments;
    for (u32 d = 0; d < devices_.size(); d++)
      for (AddressRange range : ranges_of(devices_[d])) segments.push_back({d, range});
    counts_.segments = segments.size();
    pickle_.dict(2, [&](u64 key) {
      pickle_.text(key == 0 ? "segments" : "device_traces");
      if (key == 0)
        pickle_.list(segments.size(), [&](u64 i) { put_segment(segments[i].first, segments[i].second); });
      else
        pickle_.list(devices_.size(), [&](u64 d) { put_trace(devices_[d]); });
    });
    pickle_.end();
    return counts_;
  }

 private:
  void sort_events() {
    std::map<MemoryDevice, DeviceMemory> found;
    for (u32 i = 0; i < model_.memory.size(); i++) {
      const MemoryEvent& event = model_.memory[i];
      if (event.flags & kMemoryOutOfMemory) {
        counts_.out_of_memory++;
        continue;
      }
      if (!event.address || event.address + size_of(event) < event.address) {
        counts_.placeless++;
        continue;
      }
      DeviceMemory& device = found[{event.device_type, event.device_index}];
      device.events.push_back(i);
      if (event.bytes < 0)
        device.alive.erase(event.address);
      else
        device.alive[event.address] = i;
    }
    std::vector<DeviceMemory> others;
    for (auto& [device, memory] : found) {
      memory.name = device_text(device);
      if (!is_gpu_memory(device.type) || device.index < 0) {
        others.push_back(std::move(memory));
        continue;
      }
      size_t number = size_t(device.index);
      if (devices_.size() <= number) devices_.resize(number + 1);
      devices_[number] = std::move(memory);
    }
    std::move(others.begin(), others.end(), std::back_inserter(devices_));
  }

  // The memory that any block lay in.
  std::vector<AddressRange> ranges_of(const DeviceMemory& device) const {
    std::vector<AddressRange> all, merged;
    for (u32 i : device.events)
      all.push_back({model_.memory[i].address, model_.memory[i].address + size_of(model_.memory[i])});
    std::sort(all.begin(), all.end(), [](AddressRange a, AddressRange b) { return a.begin < b.begin; });
    for (AddressRange range : all) {
      if (merged.empty() || range.begin > merged.back().end)
        merged.push_back(range);
      else
        merged.back().end = std::max(merged.back().end, range.end);
    }
    return merged;
  }

  std::vector<SnapshotBlock> blocks_in(const DeviceMemory& device, AddressRange range) {
    std::vector<SnapshotBlock> blocks;
    u64 at = range.begin;
    for (auto it = device.alive.lower_bound(range.begin); it != device.alive.end() && it->first < range.end; ++it) {
      u64 bytes = size_of(model_.memory[it->second]);
      counts_.alive++;
      if (it->first < at) {
        counts_.overlapping++;
        continue;
      }
      if (it->first > at) blocks.push_back({it->first - at});
      blocks.push_back({bytes, it->second});
      at = it->first + bytes;
    }
    if (at < range.end) blocks.push_back({range.end - at});
    return blocks;
  }

  void put_segment(u32 device, AddressRange range) {
    std::vector<SnapshotBlock> blocks = blocks_in(devices_[device], range);
    u64 used = 0;
    for (const SnapshotBlock& block : blocks) used += block.event == kNone ? 0 : block.bytes;
    u64 all = range.end - range.begin;
    constexpr const char* kKeys[] = {"device", "address", "total_size", "allocated_size", "active_size", "stream"};
    const u64 values[] = {device, range.begin, all, used, used, 0};
    pickle_.dict(std::size(kKeys) + 2, [&](u64 key) {
      if (key < std::size(kKeys)) {
        pickle_.text(kKeys[key]);
        pickle_.number(values[key]);
      } else if (key == std::size(kKeys)) {
        pickle_.text("segment_type");
        pickle_.text(all > 1 << 20 ? "large" : "small");  // as torch tells them apart
      } else {
        pickle_.text("blocks");
        u64 at = range.begin;
        pickle_.list(blocks.size(), [&](u64 i) {
          put_block(blocks[i], at);
          at += blocks[i].bytes;
        });
      }
    });
  }

  void put_block(const SnapshotBlock& block, u64 address) {
    bool used = block.event != kNone;
    pickle_.dict(used ? 5 : 4, [&](u64 key) {
      constexpr const char* kKeys[] = {"address", "size", "requested_size", "state", "frames"};
      pickle_.text(kKeys[key]);
      if (key == 3)
        pickle_.text(used ? "active_allocated" : "inactive");
      else if (key == 4)
        frames_.put(block.event);
      else
        pickle_.number(key == 0 ? address : key == 1 || used ? block.bytes : u64(0));
    });
  }

  void put_trace(const DeviceMemory& device) {
    u64 releases = 0;
    for (u32 i : device.events) releases += model_.memory[i].bytes < 0;
    counts_.releases += releases;
    counts_.allocations += device.events.size() - releases;
    size_t next = 0;
    bool completed = false;  // the release before it was written as a request
    pickle_.list(device.events.size() + releases, [&](u64) {
      bool release = model_.memory[device.events[next]].bytes < 0;
      put_event(device.events[next], !release ? "alloc" : completed ? "free_completed" : "free_requested");
      completed = release && !completed;
      next += !completed;
    });
  }

  void put_event(u32 index, const char* action) {
    const MemoryEvent& event = model_.memory[index];
    pickle_.dict(6, [&](u64 key) {
      constexpr const char* kKeys[] = {"action", "addr", "size", "stream", "time_us", "frames"};
      pickle_.text(kKeys[key]);
      switch (key) {
        case 0: return pickle_.text(action);
        case 1: return pickle_.number(event.address);
        case 2: return pickle_.number(size_of(event));
        case 3: return pickle_.number(u64(0));
        case 4: return pickle_.number((i64(model_.base_time_ns) + event.ns) / 1000);
        default: return frames_.put(index);
      }
    });
  }

  const Model& model_;
  Pickle pickle_;
  SnapshotFrames frames_;
  MemoryVizCounts counts_;
  std::vector<DeviceMemory> devices_;
};

}  // namespace

MemoryVizCounts write_memory_viz(const Model& model, kineto::OutputFile& out) {
  if (model.memory.empty()) throw Error(Fault::unreadable, "holds no memory events (run with --profile-memory)");
  return SnapshotWriter(model, out).write();
}

}  // namespace tprof
