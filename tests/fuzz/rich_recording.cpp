#include <fcntl.h>
#include <unistd.h>

#include "base/process.h"
#include "record/companion.h"
#include "record/fold.h"
#include "recording_image.h"
#include "scratch.h"
#include "unit/recording_builder.h"

namespace tprof::fuzz {
namespace {

using namespace tprof::test;

constexpr u64 at(u64 us) { return kStart + 1000 + us * 1000; }

void add_gpu(RecordingBuilder& b) {
  b.device(0, an_h100());
  b.context(1, 0, 7);
  b.call(kPid, 1, "cudaLaunchKernel", at(105), at(108), CallFamily::launch);
  b.call(kPid, 1, "cudaMalloc", at(109), at(111), CallFamily::alloc, {.address = 0x7000, .bytes = 4096});
  b.call(kPid, 1, "ncclAllReduce", at(112), at(113), CallFamily::nccl, {.bytes = 1024, .detail = 7});
  b.api(1, kPid, "cudaLaunchKernel", at(106), at(107), 11);
  b.api(1, kPid, "cudaMemcpyAsync", at(114), at(115), 12, 41);
  b.kernel(1, "_Z4gemmPf", at(110), at(140), {0, 1, 7, 11}, {.registers = 64, .queued_ns = 5});
  b.kernel(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at(130), at(150), {0, 1, 20, 13});
  b.copy(1, 1, 1, 3, at(141), at(145), {0, 1, 7, 12}, 1 << 20);
  b.set(1, at(146), at(147), {0, 1, 7, 14}, 512);
  b.gpu(1, Kind::sync, 3, SyncRecord{{}, b.wall(at(150)), b.wall(at(160)), {0, 1, 7, 15}, 3, 2});
  b.gpu(1, Kind::gpu_event, 3, GpuEventRecord{{}, {0, 1, 7, 16}, b.wall(at(149)), 2, 0});
  b.gpu(1, Kind::graph, 5, GraphRecord{{}, b.wall(at(161)), b.wall(at(170)), {0, 1, 7, 17}});
  b.gpu(1, Kind::overhead, 2, OverheadRecord{{}, b.wall(at(171)), b.wall(at(172)), 2, kPid, 0, 0});
  b.gpu(1, Kind::gpu_memory, 1, GpuMemoryRecord{{}, b.wall(at(173)), 0x7000, 4096, {0, 1, 7, 18}, 0});
}

void add_python(RecordingBuilder& b) {
  b.code_of_one_line(1, "train", "train.py", 10);
  b.code(2, "Net.forward", "net.py", 20);
  b.module(1, "Net", 0);
  b.stack(1, 0, 1, 4 | kStackEntered);
  b.stack(2, 1, 2, 8);
  b.stack(3, 0, 0, 0x401000);
  b.python(kPid, 1, 1, at(101), at(199));
  b.python(kPid, 1, 2, at(102), at(150), 1);
  b.range(kPid, 1, "aten::relu", at(103), at(104));
}

void add_others(RecordingBuilder& b) {
  constexpr u32 kOther = kPid + 1;
  b.thread(kOther, 2, "pt_autograd_0");
  b.nvtx(kOther, 1, NvtxWhat::push_pop, "load", at(110), at(120),
         {.payload = 7, .color = 0xff00ff00, .payload_type = 2});
  b.nvtx(kOther, 1, NvtxWhat::mark, "here", at(121), 0);
  RecordRef open = b.range(kOther, 1, "aten::copy_", at(122), 0, {.flags = kRangeAsync});
  b.range_end(kPid, 1, open, at(123));
  b.memory(kPid, 1, at(124), 1024, 1024);
  b.memory(kPid, 1, at(125), -1024, 0);
  b.memory(kPid, 1, at(126), 4096, 0, kMemoryOutOfMemory, 1, 0);
  Inputs inputs;
  inputs.tensor_list(2)
      .tensor(6, {4, 4}, {4, 1})
      .undefined()
      .integer(3)
      .floating(0.5)
      .string("sum")
      .integers({1, 2})
      .floats({0.5})
      .booleans({1, 0})
      .boolean(true)
      .complex(1, 2)
      .wide_tensor(7, {i64(1) << 40}, {1})
      .sparse(6, {3})
      .object(0xabc);
  b.group(0xabc, at(1), 4, "0", "[0, 1]", 2);
  b.range(kPid, 1, "c10d::allreduce_", at(127), at(129), {.inputs = &inputs});
  b.range(kOther, 1, "gloo:all_reduce", at(127), at(150), {.scope = Scope::user});
  b.stretch(StretchKind::evaluation, 0, at(160), at(190), {.batches = 3, .calls = 3});
  b.stretch_part(at(170));
  b.restart(RestartWhy::training, 0, at(0));
  b.flush(1, at(180));
  b.capability("operators", true, "");
  b.info("option.schedule", "wait=1,warmup=0,active=1,repeat=1");
  b.info("distributed", R"({"backend": "gloo", "rank": 0, "world_size": 2})");
}

void add_nccl(RecordingBuilder& b) {
  b.record(kPid, 1, NcclOpRecord{{u16(Kind::nccl_op), 0, 1}, at(112), 0x77, 3, 256, -1, 0, 2, 0, 7, 1, 2});
  b.record(kPid, 1, NcclOpRecord{{u16(Kind::nccl_op), 0, 2}, at(113), 0x77, 0, 256, 1, 0, 2, 5, 7, 1, 2});
  b.record(kPid, 1, NcclWireRecord{{u16(Kind::nccl_wire), 0, 1}, at(130), at(140), 1, 4, 65536, 0, 1, 0});
}

void add_loader(RecordingBuilder& b) {
  constexpr u32 kWorker = kPid + 2;
  constexpr u64 kLoader = 0x123;
  b.loader(kWorker, 1, LoaderPart::fetch, kLoader, 0, at(100), at(120), 500);
  b.loader(kWorker, 1, LoaderPart::fetch, kLoader, 0, at(121), at(122));
  b.loader(kPid, 1, LoaderPart::draw, kLoader, -1, at(100), at(102), 0x5000);
  b.record(kWorker, 1, HeirRecord{{u16(Kind::heir), 0, kPid + 3}});
  b.loader(kWorker, 1, LoaderPart::fetch, kLoader, 1, at(130), at(150), 500);
}

void add_program(RecordingBuilder& b, bool flight) {
  b.window(0, WindowState::sealed, 1, 2, kStart + 1, at(100), at(200));
  add_training(b, 3, 1, 2);
  add_gpu(b);
  add_python(b);
  add_nccl(b);
  add_loader(b);
  add_others(b);
  b.trigger(0, {{}, at(199), u32(TriggerWhy::slow_step), 0, 2, {1, 1700}, 0, 1});
  if (flight) b.info("option.mode", "flight:16M");
}

void add_samples(RecordingBuilder& b) {
  b.image("/usr/bin/program", 0x400000, 0x500000);
  b.info(kSamplesHz, "100");
  b.info(kSamplesGil, "1");
  b.sample_round(1, at(110), 2, 0, 0);
  b.sample(kPid, 1, at(110), 2, kSampleOnCpu | kSampleGil, 3, 40'000);
  b.sample(kPid + 1, 1, at(110), 1, kSampleCut);
  b.sample_round(1, at(120), 1, 1, kAllUnread);
  b.sample(kPid, 1, at(120), kStackLost, kSampleNoNative);
}

// The recording without its unused space; see record/fold.h.
std::string folded(RecordingBuilder& b) {
  Scratch scratch;
  std::string path = scratch.path("recording");
  b.write(path);
  std::unique_ptr<Recording> recording = Recording::open(path);
  recording->read_meta();
  recording->for_each_data(0, 2, [](const RecordView&) {});
  require(!recording->damage().any(), "the seed is not damaged");
  int fd = open(scratch.path("folded").c_str(), O_RDWR | O_CREAT, 0600);
  u64 bytes = append_recording(*recording, fd, 0, u64(1) << 30);
  std::string out(bytes, 0);
  require(pread(fd, out.data(), bytes, 0) == ssize_t(bytes), "the seed can be read");
  close(fd);
  return out;
}

}  // namespace

std::string rich_recording(bool flight) {
  RecordingBuilder b;
  add_program(b, flight);
  return folded(b);
}

std::string rich_samples() {
  RecordingBuilder b;
  add_python(b);
  add_samples(b);
  return folded(b);
}

std::string followed_recording(bool flight) {
  RecordingBuilder b;
  b.header.phase = u32(Phase::active);
  b.header.step.number = 2;
  b.header.step.begin_ticks = at(180);
  b.header.step.first_ticks = at(1);
  b.header.loader.worker = 0;
  b.header.loader.part = u32(LoaderPart::fetch);
  b.header.loader.since_ticks = at(150);
  add_program(b, flight);
  add_samples(b);
  return folded(b);
}

std::string forged_recording() {
  RecordingBuilder b;
  ProcessIdentity init = process_identity(1);
  b.header.pid = 1;
  b.header.process_start = init.start_time;
  static_assert(sizeof b.header.boot_id >= sizeof init.boot_id);
  memcpy(b.header.boot_id, init.boot_id, sizeof init.boot_id);
  gethostname(b.header.host, sizeof b.header.host - 1);
  b.header.phase = u32(Phase::active);
  b.header.step.number = 2;
  b.header.step.begin_ticks = at(180);
  b.info("command", "/sbin/init");
  add_program(b, true);
  add_samples(b);
  return folded(b);
}

std::string sampled_recording() {
  RecordingBuilder b;
  add_training(b, 3, 1, 2);
  b.info("option.sample", "native:100");
  return b.bytes();
}

}  // namespace tprof::fuzz
