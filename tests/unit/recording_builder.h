// Builds recordings by hand, for tests: writes the file format of record/record.h with plain memory and
// fwrite, sharing no code with the real writer, so that reader and format are tested against the
// specification.
//
// Times: ticks are nanoseconds of CLOCK_MONOTONIC (clock_kind monotonic_ns) unless a test says otherwise.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "record/record.h"

namespace tprof::test {

constexpr u64 kStart = 1'000'000'000;             // monotonic time at which tests begin
constexpr u64 kWall = 1'800'000'000'000'000'000;  // wall time at kStart
constexpr u64 kBase = 1'790'857'026'000'000'000;  // baseTimeNanoseconds
constexpr u32 kPid = 4242;

// Encoded inputs of a range.
class Inputs {
 public:
  Inputs& tensor(u8 dtype, std::vector<u32> sizes, std::vector<u32> strides) {
    head(InputTag::tensor, u32(sizes.size()), dtype);
    sizes.insert(sizes.end(), strides.begin(), strides.end());
    return payload(sizes.data(), sizes.size() * 4);
  }
  Inputs& wide_tensor(u8 dtype, std::vector<i64> sizes, std::vector<i64> strides) {
    head(InputTag::tensor, u32(sizes.size()), dtype, kInputWide);
    sizes.insert(sizes.end(), strides.begin(), strides.end());
    return payload(sizes.data(), sizes.size() * 8);
  }
  Inputs& sparse(u8 dtype, std::vector<u32> sizes) {
    head(InputTag::tensor, u32(sizes.size()), dtype, kInputNoStrides);
    return payload(sizes.data(), sizes.size() * 4);
  }
  Inputs& none() { return head(InputTag::none, 0); }
  Inputs& undefined() { return head(InputTag::undefined, 0); }
  Inputs& object(u64 address) { return head(InputTag::object, 0).payload(&address, 8); }
  Inputs& boolean(bool value) { return head(InputTag::boolean, value); }
  Inputs& integer(i64 value) { return head(InputTag::integer, 0).payload(&value, 8); }
  Inputs& floating(double value) { return head(InputTag::floating, 0).payload(&value, 8); }
  Inputs& complex(double re, double im) {
    double both[] = {re, im};
    return head(InputTag::complex, 0).payload(both, 16);
  }
  Inputs& string(const std::string& text) {
    return head(InputTag::string, u32(text.size())).payload(text.data(), text.size());
  }
  Inputs& integers(const std::vector<i64>& v) {
    return head(InputTag::integer_list, u32(v.size())).payload(v.data(), v.size() * 8);
  }
  Inputs& floats(const std::vector<double>& v) {
    return head(InputTag::floating_list, u32(v.size())).payload(v.data(), v.size() * 8);
  }
  Inputs& booleans(const std::vector<u8>& v) {
    return head(InputTag::boolean_list, u32(v.size())).payload(v.data(), v.size());
  }
  // The next `count` inputs are its elements.
  Inputs& tensor_list(u32 count) {
    head(InputTag::tensor_list, count);
    count_ -= count;
    return *this;
  }
  u16 count() const { return static_cast<u16>(count_); }
  const std::string& bytes() const { return bytes_; }

 private:
  Inputs& head(InputTag tag, u32 count, u8 dtype = 255, u8 flags = 0) {
    InputHead h{static_cast<u8>(tag), dtype, flags, 0, count};
    bytes_.append(reinterpret_cast<const char*>(&h), sizeof h);
    count_++;
    return *this;
  }
  Inputs& payload(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    bytes_.append((8 - size % 8) % 8, '\0');
    return *this;
  }
  std::string bytes_;
  int count_ = 0;
};

struct RangeOptions {
  Scope scope = Scope::function;
  i64 sequence = -1;
  u64 forward_thread = 0;
  u8 flags = 0;
  const Inputs* inputs = nullptr;
};

class RecordingBuilder {
 public:
  RecordingBuilder() {
    memset(static_cast<void*>(&header), 0, sizeof header);
    memcpy(header.magic, kRecordingMagic, sizeof header.magic);
    header.version_major = kVersionMajor;
    header.version_minor = kVersionMinor;
    header.header_bytes = kHeaderBytes;
    header.chunk_bytes = kChunkBytes;
    header.pid = kPid;
    header.process_start = 1;  // no process started then: the writer is dead
    strcpy(header.boot_id, "11111111-2222-3333-4444-555555555555");
    strcpy(header.host, "testhost");
    header.created_ns = kWall - 1000;
    header.base_time_ns = kBase;
    header.phase = static_cast<u32>(Phase::ended);
    clock(kStart, kWall, kStart);
    clock(kStart + 10'000'000'000, kWall + 10'000'000'000, kStart + 10'000'000'000);
    thread(kPid, 1, "python3");
  }

  FileHeader header;
  u64 chunk_ticks = 0;  // of chunks that are begun from now on

  u32 name(const std::string& text) {
    auto [it, added] = names_.emplace(text, static_cast<u32>(names_.size()) + 1);
    if (added) {
      NameRecord r{};
      r.head = {static_cast<u16>(Kind::name), 0, it->second};
      r.bytes = static_cast<u32>(text.size());
      put(meta(), r, text + '\0');
    }
    return it->second;
  }
  void thread(u32 tid, u64 torch_thread, const char* text) {
    ThreadRecord r{};
    r.head = {static_cast<u16>(Kind::thread), 0, tid};
    r.torch_thread = torch_thread;
    size_t bytes = strlen(text), whole = sizeof r - offsetof(ThreadRecord, name);
    memcpy(r.name, text, std::min(bytes, sizeof r.name));
    put(meta(), r, bytes > whole ? std::string(text + whole) : "");
  }
  void clock(u64 ticks, u64 realtime_ns, u64 monotonic_ns) {
    put(meta(), ClockRecord{{static_cast<u16>(Kind::clock), 0, 0}, ticks, realtime_ns, monotonic_ns});
  }
  void step(i64 number, u64 begin, u64 end = 0, u32 flags = kStepHasWork, StepBy by = StepBy::optimizer,
            u32 tid = kPid) {
    put(meta(), StepRecord{{static_cast<u16>(Kind::step), 0, static_cast<u32>(by)}, number, begin, end, flags, tid});
  }
  // `rest`: batches, calls, what was left out, flags and thread.
  void stretch(StretchKind kind, i64 number, u64 begin, u64 end, StretchRecord rest = {}) {
    rest.head = {static_cast<u16>(Kind::stretch), 0, static_cast<u32>(kind)};
    rest.number = number;
    rest.begin_ticks = begin;
    rest.end_ticks = end;
    if (!rest.tid) rest.tid = kPid;
    put(meta(), rest);
  }
  void stretch_part(u64 ticks) { put(meta(), StretchPartRecord{{static_cast<u16>(Kind::stretch_part), 0, 0}, ticks}); }
  void restart(RestartWhy why, i64 number, u64 ticks) {
    put(meta(), RestartRecord{{static_cast<u16>(Kind::restart), 0, static_cast<u32>(why)}, number, ticks});
  }
  void window(u32 number, WindowState state, i64 first_step, i64 end_step, u64 warmup, u64 begin, u64 end) {
    WindowRecord r{};
    r.head = {static_cast<u16>(Kind::window), 0, number};
    r.state = static_cast<u32>(state);
    r.tid = kPid;
    r.first_step = first_step;
    r.end_step = end_step;
    r.warmup_ticks = warmup;
    r.begin_ticks = begin;
    r.end_ticks = end;
    put(meta(), r);
  }
  void capability(const std::string& what, bool on, const std::string& why) {
    put(meta(), CapabilityRecord{{static_cast<u16>(Kind::capability), 0, on}}, what + '\0' + why + '\0');
  }
  void info(const std::string& key, const std::string& value) {
    put(meta(), InfoRecord{{static_cast<u16>(Kind::info), 0, 0}}, key + '\0' + value + '\0');
  }
  void group(u64 address, u64 ticks, i64 sequence, const std::string& text, const std::string& ranks, u32 size) {
    GroupRecord r{{static_cast<u16>(Kind::group), 0, size}, address, ticks, sequence, name(text), 0, name(ranks), 0};
    put(meta(), r);
  }
  void trigger(u32 window, TriggerRecord r) {
    r.head = {static_cast<u16>(Kind::trigger), 0, window};
    put(meta(), r);
  }
  void image(const std::string& path, u64 begin, u64 end) {
    put(meta(), ImageRecord{{static_cast<u16>(Kind::image), 0, 0}, begin, end, begin, 0, name(path), 0, {}});
  }
  void flush(u32 number, u64 ticks) { put(meta(), FlushRecord{{static_cast<u16>(Kind::flush), 0, number}, ticks}); }

  RecordRef range(u32 tid, u32 epoch, const std::string& text, u64 begin, u64 end, const RangeOptions& options = {}) {
    RangeRecord r{};
    r.head = {static_cast<u16>(Kind::range), 0, name(text)};
    r.begin_ticks = begin;
    r.end_ticks = end;
    r.sequence = static_cast<i32>(options.sequence);
    r.scope = static_cast<u8>(options.scope);
    r.flags = options.flags;
    if (options.inputs) {
      r.flags |= kRangeHasInputs;
      r.inputs = options.inputs->count();
    }
    std::string tail;
    if (options.forward_thread || options.sequence != r.sequence) {
      r.flags |= kRangeLinked;
      RangeLink link{options.sequence, options.forward_thread};
      tail.assign(reinterpret_cast<const char*>(&link), sizeof link);
    }
    if (options.inputs) tail += options.inputs->bytes();
    return put(data(tid, epoch), r, tail);
  }
  void memory(u32 tid, u32 epoch, u64 ticks, i64 bytes, u64 total, u8 flags = 0, u8 device_type = 0,
              i8 device_index = -1, u64 address = 0x1000) {
    u32 what = device_type | static_cast<u32>(static_cast<u8>(device_index)) << 8 | static_cast<u32>(flags) << 16;
    put(data(tid, epoch), MemoryRecord{{static_cast<u16>(Kind::memory), 0, what}, ticks, address, bytes, total, 0});
  }
  // Records of the GPU side, in the chunks of tid 0. Times are wall time: see wall().
  template <class T>
  void gpu(u32 epoch, Kind kind, u32 id, T record) {
    record.head = {static_cast<u16>(kind), 0, id};
    put(data(0, epoch), record);
  }
  void kernel(u32 epoch, const std::string& text, u64 begin, u64 end, const GpuPlace& place, KernelRecord more = {}) {
    more.begin_ns = wall(begin);
    more.end_ns = wall(end);
    more.place = place;
    if (!more.grid[0]) more.grid[0] = more.grid[1] = more.grid[2] = 1;
    if (!more.block[0]) more.block[0] = more.block[1] = more.block[2] = 1;
    if (!more.priority) more.priority = INT32_MIN;
    gpu(epoch, Kind::kernel, name(text), more);
  }
  // kind: CUpti_ActivityMemcpyKind; from, to: memory kinds.
  void copy(u32 epoch, u32 kind, u32 from, u32 to, u64 begin, u64 end, const GpuPlace& place, u64 bytes) {
    CopyRecord r{};
    r.begin_ns = wall(begin);
    r.end_ns = wall(end);
    r.place = place;
    r.bytes = bytes;
    r.from_device = r.to_device = place.device;
    gpu(epoch, Kind::copy, kind | from << 8 | to << 16, r);
  }
  void set(u32 epoch, u64 begin, u64 end, const GpuPlace& place, u64 bytes) {
    SetRecord r{};
    r.begin_ns = wall(begin);
    r.end_ns = wall(end);
    r.place = place;
    r.bytes = bytes;
    gpu(epoch, Kind::set, 3, r);
  }
  void api(u32 epoch, u32 tid, const std::string& function, u64 begin, u64 end, u32 correlation, u32 cbid = 211,
           i32 result = 0) {
    gpu(epoch, Kind::api, name(function), ApiRecord{{}, wall(begin), wall(end), tid, correlation, result, cbid});
  }
  // A call seen by an interposed function.
  RecordRef call(u32 tid, u32 epoch, const std::string& function, u64 begin, u64 end, CallFamily family,
                 CallRecord more = {}) {
    more.head = {static_cast<u16>(Kind::call), 0, name(function)};
    more.begin_ticks = begin;
    more.end_ticks = end;
    more.family = static_cast<u8>(family);
    return put(data(tid, epoch), more);
  }
  void device(u32 number, DeviceRecord r) {
    r.head = {static_cast<u16>(Kind::device), 0, number};
    put(meta(), r);
  }
  void context(u32 id, u32 device_number, u32 null_stream) {
    put(meta(), ContextRecord{{static_cast<u16>(Kind::context), 0, id}, device_number, null_stream});
  }
  // CLOCK_REALTIME at these ticks, as long as nobody set the clock; 0 stays 0.
  static u64 wall(u64 ticks) { return ticks ? kWall + (ticks - kStart) : 0; }

  // `rest`: what is to stand in the record besides.
  RecordRef nvtx(u32 tid, u32 epoch, NvtxWhat what, const std::string& text, u64 begin, u64 end, NvtxRecord rest = {}) {
    rest.head = {static_cast<u16>(Kind::nvtx), 0, name(text)};
    rest.begin_ticks = begin;
    rest.end_ticks = end;
    rest.what = static_cast<u8>(what);
    return put(data(tid, epoch), rest);
  }
  // `loader`: of the iterator; `worker` -1: a draw of the program.
  void loader(u32 tid, u32 epoch, LoaderPart part, u64 loader, i32 worker, u64 begin, u64 end, u64 detail = 0) {
    put(data(tid, epoch), LoaderRecord{{static_cast<u16>(Kind::loader), 0, static_cast<u32>(part)},
                                       begin,
                                       end,
                                       loader,
                                       worker,
                                       worker < 0 ? 0u : 4u,
                                       detail,
                                       part == LoaderPart::fetch ? (end - begin) / 2 : 0});
  }
  void code(u32 id, const std::string& qualified_name, const std::string& file, i32 line) {
    put(meta(),
        CodeRecord{{static_cast<u16>(Kind::code), 0, id}, name(qualified_name), name(file), line, 0, 0x30d, {}});
  }
  // All of its instructions are on that line.
  void code_of_one_line(u32 id, const std::string& qualified_name, const std::string& file, i32 line) {
    put(meta(),
        CodeRecord{{static_cast<u16>(Kind::code), 0, id}, name(qualified_name), name(file), line, 0, 0x309, {}});
  }
  void module(u32 id, const std::string& class_name, u32 number) {
    put(meta(), ModuleRecord{{static_cast<u16>(Kind::module), 0, id}, name(class_name), number, 20, 80});
  }
  // `module`: its id, 0 none.
  RecordRef python(u32 tid, u32 epoch, u32 code_id, u64 begin, u64 end, u32 module = 0) {
    return put(data(tid, epoch),
               PythonCallRecord{{static_cast<u16>(Kind::python_call), 0, code_id}, begin, end, module, 0});
  }
  void stack(u32 id, u32 parent, u32 code_id, u64 at) {
    put(meta(), StackRecord{{static_cast<u16>(Kind::stack), 0, id}, parent, code_id, at});
  }
  // Of a companion.
  void sample(u32 tid, u32 epoch, u64 ns, u32 stack_id, u32 flags, u32 native = 0, u32 stopped_ns = 0) {
    put(data(0, epoch),
        SampleRecord{{static_cast<u16>(Kind::sample), 0, tid}, ns, {stack_id, native}, flags, stopped_ns});
  }
  void sample_round(u32 epoch, u64 ns, u32 samples, u32 missed, u32 unread) {
    put(data(0, epoch), SampleRoundRecord{{static_cast<u16>(Kind::sample_round), 0, samples}, ns, missed, unread});
  }
  void range_end(u32 tid, u32 epoch, RecordRef begin, u64 end) {
    put(data(tid, epoch), RangeEndRecord{{static_cast<u16>(Kind::range_end), 0, 0}, begin, end});
  }
  // A record of a thread, its head filled by the caller but for the size.
  template <class T>
  RecordRef record(u32 tid, u32 epoch, const T& whole) {
    return put(data(tid, epoch), whole);
  }
  u32 name_id(const std::string& text) { return name(text); }
  // A record of a kind that no version knows.
  void unknown(u32 tid, u32 epoch) { put(data(tid, epoch), RangeEndRecord{{999, 0, 0}, 0, 0}); }
  // The next record of this thread starts a new chunk.
  void retire(u32 tid, u32 epoch) { open_.erase({tid, epoch}); }

  std::string bytes() {
    header.chunks = static_cast<u32>(chunks_.size());
    header.live_chunks = static_cast<u32>(chunks_.size());
    std::string out(kHeaderBytes, '\0');
    memcpy(out.data(), static_cast<void*>(&header), sizeof header);
    for (const std::string& chunk : chunks_) {
      out += chunk;
      out.append(kChunkBytes - chunk.size(), '\0');
    }
    return out;
  }
  void write(const std::string& path) {
    std::string all = bytes();
    std::ofstream(path, std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));
  }

 private:
  u32 new_chunk(Stream stream, u32 epoch, u32 tid) {
    ChunkHeader h{};
    h.magic = kChunkMagic;
    h.index = static_cast<u32>(chunks_.size());
    h.stream = static_cast<u32>(stream);
    h.epoch = epoch;
    h.tid = tid;
    h.first_ticks = chunk_ticks;
    chunks_.emplace_back(reinterpret_cast<const char*>(&h), sizeof h);
    return h.index;
  }
  u32& meta() { return open_.try_emplace({0, 0xffffffff}, 0xffffffff).first->second; }
  u32& data(u32 tid, u32 epoch) { return open_.try_emplace({tid, epoch}, 0xffffffff).first->second; }

  template <class T>
  RecordRef put(u32& chunk, const T& record, std::string tail = "") {
    tail.append((8 - tail.size() % 8) % 8, '\0');
    size_t size = sizeof(T) + tail.size();
    if (chunk == 0xffffffff || chunks_[chunk].size() + size > kChunkBytes) {
      bool is_meta = &chunk == &meta();
      u32 epoch = 0, tid = 0;
      for (auto& [key, open] : open_)
        if (&open == &chunk && !is_meta) std::tie(tid, epoch) = key;
      chunk = new_chunk(is_meta ? Stream::meta : Stream::data, epoch, tid);
    }
    std::string& bytes = chunks_[chunk];
    RecordRef ref = RecordRef(chunk) << 32 | bytes.size();
    char whole[sizeof(T)];
    memcpy(whole, static_cast<const void*>(&record), sizeof whole);
    u16 words = static_cast<u16>(size / 8);
    memcpy(whole + offsetof(RecordHead, words), &words, sizeof words);
    bytes.append(whole, sizeof whole).append(tail);
    return ref;
  }

  std::vector<std::string> chunks_;
  std::map<std::pair<u32, u32>, u32> open_;  // (tid, epoch) -> chunk
  std::map<std::string, u32> names_;
};

// The properties of an H100.
inline DeviceRecord an_h100() {
  DeviceRecord d{};
  d.total_memory = 85'045'411'840;
  d.compute_major = 9;
  d.multiprocessors = 132;
  d.warp_size = 32;
  d.max_threads_per_block = 1024;
  d.max_threads_per_multiprocessor = 2048;
  d.max_blocks_per_multiprocessor = 32;
  d.registers_per_block = d.registers_per_multiprocessor = 65536;
  d.shared_per_block = 49152;
  d.shared_per_multiprocessor = 233472;
  d.shared_per_block_optin = 232448;
  d.shared_reserved_per_block = 1024;
  strcpy(d.name, "NVIDIA H100 80GB HBM3");
  return d;
}

// A directory that goes away with the test.
class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/tprof-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~TempDir() {
    std::string command = "rm -rf " + path;
    if (system(command.c_str()) != 0) perror("rm");
  }
  std::string path;
};

// A small training: `steps` steps of forward, backward and optimizer from kStart + 1000, 100 us each, in
// window 0. Steps [first, end) are active.
inline void add_training(RecordingBuilder& b, i64 steps, i64 first, i64 end, WindowState state = WindowState::sealed) {
  constexpr u64 kStepNs = 100'000;
  auto at = [](i64 step, u64 ns) { return kStart + 1000 + u64(step) * kStepNs + ns; };
  for (i64 s = 0; s < steps; s++) {
    b.step(s, at(s, 0), at(s + 1, 0), kStepHasWork);
    u32 epoch = s < first ? 0 : s < end ? 1 : 2;
    Inputs inputs;
    inputs.tensor(6, {32, 10}, {10, 1}).tensor(6, {5, 10}, {10, 1}).none();
    b.range(kPid, epoch, "aten::linear", at(s, 1000), at(s, 20'000), {.sequence = s * 2, .inputs = &inputs});
    b.range(kPid, epoch, "aten::addmm", at(s, 2000), at(s, 18'000), {.sequence = s * 2, .inputs = &inputs});
    b.range(kPid, epoch, "autograd::engine::evaluate_function: AddmmBackward0", at(s, 30'000), at(s, 50'000));
    b.range(kPid, epoch, "AddmmBackward0", at(s, 31'000), at(s, 49'000),
            {.scope = Scope::backward, .sequence = s * 2, .forward_thread = 1});
    b.range(kPid, epoch, "aten::mm", at(s, 32'000), at(s, 48'000));
    b.range(kPid, epoch, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at(s, 51'000),
            at(s, 53'000));
    b.range(kPid, epoch, "torch::autograd::AccumulateGrad", at(s, 51'500), at(s, 52'500), {.scope = Scope::backward});
    b.range(kPid, epoch, "Optimizer.step#SGD.step", at(s, 60'000), at(s, 80'000), {.scope = Scope::user});
    b.range(kPid, epoch, "aten::add_", at(s, 61'000), at(s, 79'000));
  }
  b.window(0, state, first, end, at(0, 0), at(first, 0), state == WindowState::sealed ? at(end, 0) : 0);
}
constexpr u64 kTrainingEvents = 9;  // per step

}  // namespace tprof::test
