// Writes the recording behind tests/golden/gpu.plugin.json: a training on one H100 of which every figure that
// the plugin shows can be computed by hand (tests/run/test_golden_gpu.py does).
//
// Three steps of 1 ms. In each: a copy to the GPU, a linear layer and a relu on the main thread, a backward
// pass on autograd's thread, and an optimizer whose kernel a driver call launches, as Triton does. One launch
// ahead of the GPU.
#include "unit/recording_builder.h"

using namespace tprof;
using namespace tprof::test;

namespace {

constexpr u32 kAutograd = kPid + 1;
constexpr u64 kStepNs = 1'000'000;

KernelRecord shape(i32 blocks, i32 threads, u16 registers, i32 shared) {
  KernelRecord k{};
  k.grid[0] = blocks;
  k.block[0] = threads;
  k.grid[1] = k.grid[2] = k.block[1] = k.block[2] = 1;
  k.registers = registers;
  k.dynamic_shared = shared;
  k.priority = INT32_MIN;
  return k;
}

class Training {
 public:
  void write(const std::string& path) {
    b_.device(0, an_h100());
    b_.context(1, 0, 7);
    b_.thread(kAutograd, 2, "pt_autograd_0");
    b_.info("option.record_shapes", "1");
    b_.info("option.profile_memory", "1");
    b_.capability("ops", true, "");
    for (i64 step = 0; step < 3; step++) add_step(step);
    b_.window(0, WindowState::sealed, 0, 3, kStart, kStart, kStart + 3 * kStepNs);
    b_.write(path);
  }

 private:
  u64 at(u64 us) const { return begin_ + us * 1000; }

  // A call of 5 us seen by both, and its correlation.
  u32 call(u32 tid, const char* function, u64 us, CallFamily family, u64 bytes = 0) {
    CallRecord more{};
    more.bytes = bytes;
    b_.call(tid, 1, function, at(us), at(us + 5), family, more);
    b_.api(1, tid, std::string(function) + "_v7000", at(us) + 200, at(us + 5) - 200, ++correlation_);
    return correlation_;
  }
  GpuPlace place() const { return {0, 1, 7, correlation_}; }

  void add_step(i64 step) {
    begin_ = kStart + u64(step) * kStepNs;
    b_.step(step, begin_, begin_ + kStepNs, kStepHasWork);
    Inputs inputs;
    inputs.tensor(6, {32, 10}, {10, 1}).tensor(6, {5, 10}, {10, 1}).none();

    b_.range(kPid, 1, "aten::copy_", at(10), at(30));
    call(kPid, "cudaMemcpyAsync", 15, CallFamily::copy, 4'000'000);
    b_.copy(1, 1, 2, 3, at(30), at(130), place(), 4'000'000);

    b_.range(kPid, 1, "aten::linear", at(40), at(80), {.sequence = step, .inputs = &inputs});
    b_.range(kPid, 1, "aten::addmm", at(45), at(75), {.sequence = step, .inputs = &inputs});
    b_.memory(kPid, 1, at(47), 1024, 2048, 0, 1, 0, 0x7000'0000 + u64(step) * 4096);
    call(kPid, "cudaLaunchKernel", 50, CallFamily::launch);
    // 2 blocks of 256 threads per SM.
    b_.kernel(1, "_Z4gemmPfS_", at(140), at(340), place(), shape(264, 256, 32, 0));

    b_.range(kPid, 1, "aten::relu", at(90), at(110));
    call(kPid, "cudaLaunchKernel", 95, CallFamily::launch);
    // Half a block of 128 threads per SM.
    b_.kernel(1, "_Z4reluPf", at(350), at(450), place(), shape(66, 128, 16, 0));

    b_.range(kAutograd, 1, "autograd::engine::evaluate_function: AddmmBackward0", at(300), at(360));
    b_.range(kAutograd, 1, "AddmmBackward0", at(305), at(355),
             {.scope = Scope::backward, .sequence = step, .forward_thread = 1});
    b_.range(kAutograd, 1, "aten::mm", at(310), at(350));
    call(kAutograd, "cudaLaunchKernel", 320, CallFamily::launch);
    // 60000 bytes of shared memory: 3 blocks of 512 threads fit on one SM, 4 per SM are launched.
    b_.kernel(1, "_Z3mmtPf", at(460), at(660), place(), shape(528, 512, 32, 60'000));

    b_.range(kPid, 1, "Optimizer.step#SGD.step", at(400), at(500), {.scope = Scope::user});
    b_.range(kPid, 1, "aten::add_", at(410), at(440));
    b_.api(1, kPid, "cuLaunchKernel", at(420), at(425), ++correlation_, 307 | kApiDriver);
    b_.kernel(1, "triton_add", at(670), at(720), place(), shape(132, 1024, 32, 0));
    b_.range(kPid, 1, "aten::zero_", at(450), at(470));
    call(kPid, "cudaMemsetAsync", 455, CallFamily::set, 1'000'000);
    b_.set(1, at(730), at(740), place(), 1'000'000);
    b_.memory(kPid, 1, at(460), -1024, 1024, 0, 1, 0, 0x7000'0000 + u64(step) * 4096);

    SyncRecord sync{};
    call(kPid, "cudaStreamSynchronize", 700, CallFamily::sync);
    sync.begin_ns = b_.wall(at(701));
    sync.end_ns = b_.wall(at(704));
    sync.place = place();
    b_.gpu(1, Kind::sync, 3, sync);
    OverheadRecord overhead{};
    overhead.begin_ns = b_.wall(at(800));
    overhead.end_ns = b_.wall(at(805));
    overhead.object_kind = 2;
    overhead.object = kPid;
    b_.gpu(1, Kind::overhead, 1 << 16, overhead);
  }

  RecordingBuilder b_;
  u64 begin_ = 0;
  u32 correlation_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Training().write(argv[1]);
}
