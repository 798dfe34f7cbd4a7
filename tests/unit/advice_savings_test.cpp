// No advice promises more than its own evidence shows to be idle or wasted: held against random traces, whose busy time
// is counted here microsecond by microsecond.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/advice/advice.h"
#include "model_builder.h"

namespace tprof {
namespace {

// Each random number is drawn in a statement of its own, so that every compiler makes the same traces of a seed.
class RandomTrace {
 public:
  explicit RandomTrace(u32 seed) : random_(seed) {}

  Model make() {
    if (chance(0.8)) b_.device(0, u32(between(7, 9)), 0, 1 << 20, "NVIDIA A100-SXM4-40GB");
    gpu_ = chance(0.8);
    tensor_cores_ = chance(0.5);
    brief_ = chance(0.3);
    i64 steps = between(1, 6);
    for (i64 s = 0; s < steps; s++) {
      i64 begin = at_;
      if (chance(0.3)) at_ += between(0, 3000);  // Python before anything else
      for (i64 n = between(1, 40); n > 0; n--) piece();
      if (chance(0.7)) b_.step(begin, at_);
    }
    return b_.model();
  }

 private:
  i64 between(i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }

  // What the host does next.
  void piece() {
    at_ += between(0, chance(0.1) ? 1000 : 10);
    switch (between(0, 8)) {
      case 0: return loader();
      case 1:
        b_.range("AddBackward0", at_, at_ + 1, Scope::backward);
        at_++;
        return region("Optimizer.step#SGD.step", "aten::add_", between(1, 150));
      case 2: return region("Optimizer.zero_grad#SGD.zero_grad", "aten::zero_", between(1, 30));
      case 3:
        for (i64 n = chance(0.1) ? 20 : 1; n > 0; n--) copy();
        return;
      case 4: return driver();
      case 5: return loop();
      case 6: return op("aten::contiguous", {});
      case 7: return moved();
      default:
        u8 dtype = chance(0.5) ? 5 : 6;
        u32 odd = chance(0.5) ? 63 : 64;
        return op("aten::mm", {{{odd, 512}, dtype}, {{512, odd}, dtype}});
    }
  }

  void loader() {
    i64 end = at_ + between(1, 2000);
    b_.label(chance(0.5) ? "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
                         : "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
             at_, end);
    at_ = end;
    if (chance(0.3)) {
      b_.op("aten::random_", at_, at_ + 1);
      at_ += between(1, 3000);
    }
  }
  void region(const char* label, const char* name, i64 count) {
    i64 begin = at_;
    for (at_ += 1; count > 0; count--) op(name, {});
    b_.label(label, begin, at_ + 1);
    at_ += 2;
  }
  void loop() {
    for (i64 n = between(5, 30); n > 0; n--) {
      op("aten::select", {});
      op("aten::mul", {});
    }
  }
  void moved() {
    op("aten::zero_", {});
    i64 end = at_ + between(3, 200);
    b_.op("aten::to", at_, end);
    b_.op("aten::_to_copy", at_, end);
    b_.op("aten::copy_", at_ + 1, end, {{{4}}, {{4}}});
    at_ = end;
  }
  void op(const char* name, std::vector<ModelBuilder::Shape> shapes) {
    i64 end = at_ + between(1, 30);
    b_.op(name, at_, end, std::move(shapes));
    if (gpu_ && chance(0.8)) launch(end);
    at_ = end;
  }
  // Of a call that ends by then.
  void launch(i64 end) {
    static constexpr const char* kKernels[] = {"ampere_sgemm_128x64_tn", "void elementwise_kernel<float>(float*)",
                                               "ncclDevKernel_AllReduce", "hmma_gemm"};
    i64 calls_end = chance(0.02) ? end + between(1000, 3000) : end;
    u32 call = b_.call(chance(0.1) ? "cudaGraphLaunch" : "cudaLaunchKernel", at_, calls_end);
    for (i64 n = chance(0.1) ? 3 : 1; n > 0; n--) {
      i64 begin = at_ + between(0, chance(0.1) ? 5000 : 20);
      const char* name = kKernels[between(0, tensor_cores_ ? 3 : 2)];
      i64 length = between(0, brief_ ? 3 : chance(0.2) ? 2000 : 20);
      u32 stream = u32(between(7, 9)), device = u32(chance(0.1));
      b_.kernel(name, begin, begin + length, call, stream, device);
    }
  }
  void copy() {
    if (!gpu_) return;
    i64 end = at_ + between(1, 500), begin = at_ + between(0, 500);
    u32 kind = u32(between(1, 2)), host = u32(between(1, 2));
    u64 bytes = u64(between(1, 1 << 20));
    i64 length = between(0, 300);
    b_.copy(kind, host, bytes, begin, begin + length, b_.call("cudaMemcpyAsync", at_, end));
    at_ = end;
  }
  void driver() {
    if (!gpu_) return;
    static constexpr const char* kCalls[] = {"cudaMalloc", "cudaFree", "cudaStreamSynchronize", "cuCtxSynchronize"};
    i64 end = at_ + between(1, 1000);
    b_.call(kCalls[between(0, 3)], at_, end);
    at_ = end;
  }

  std::mt19937 random_;
  ModelBuilder b_;
  i64 at_ = 0;
  bool gpu_ = false, tensor_cores_ = false;
  bool brief_ = false;  // kernels take a moment
};

struct Busy {
  double steps = 0, time = 0;    // us; time: what analyses sum over, which may lie between steps too
  double kernels = 0, here = 0;  // of it, with a kernel on any GPU, on the one that is busy longest
};
Busy busy_of(const Facts& facts) {
  Busy out;
  for (const Interval& step : facts.windows.steps) out.steps += double(step.length()) / 1000;
  for (const Interval& part : facts.windows.time.intervals()) {
    std::vector<char> kernel(size_t(part.length() / 1000)), here(kernel.size());
    for (const GpuEvent& work : facts.model.gpu) {
      i64 begin = std::max(work.begin_ns, part.begin), end = std::min(work.end_ns(), part.end);
      if (work.kind() != Kind::kernel || end <= begin) continue;
      i64 first = (begin - part.begin) / 1000, count = (end - begin + 999) / 1000;
      std::fill_n(kernel.begin() + first, count, true);
      if (facts.gpu && work.device == facts.gpu->device) std::fill_n(here.begin() + first, count, true);
    }
    out.time += double(kernel.size());
    out.kernels += double(std::count(kernel.begin(), kernel.end(), true));
    out.here += double(std::count(here.begin(), here.end(), true));
  }
  return out;
}

TEST(Savings, AreNoMoreThanTheEvidenceShowsIdleOrWasted) {
  // Rules whose saving is time of the host, or of copies: kernels that run meanwhile hide it. Those of one GPU that
  // waits, and those of kernels.
  const std::set<std::string> host = {"DL1", "DL2", "DL3", "PY1", "LN1", "TK1",
                                      "AL1", "CP1", "CP2", "CP3", "OP1", "WU2"};
  const std::set<std::string> one_gpu = {"HB1", "SY1", "GP1"};
  const std::set<std::string> kernels = {"CM1", "CM2", "TC1", "PT1", "RF1"};
  std::vector<DevicePeak> table = device_table();
  std::map<std::string, int> found;
  for (u32 seed = 0; seed < 200; seed++) {
    SCOPED_TRACE(seed);
    Model model = RandomTrace(seed).make();
    Facts facts(model, table);
    Busy busy = busy_of(facts);
    double steps = double(facts.windows.steps.size());
    for (const Advice& a : advise(facts)) {
      SCOPED_TRACE(a.rule->id);
      found[a.rule->id]++;
      if (a.match.saving_ns < 0) continue;
      double saved_us = a.match.saving_ns * steps / 1000, slack = 1e-6 * busy.steps;
      EXPECT_GE(a.match.share, 0);
      EXPECT_LE(a.match.share, 1 + 1e-9);
      EXPECT_LE(saved_us, a.match.share * busy.steps + slack);
      if (host.contains(a.rule->id)) {
        EXPECT_LE(saved_us, busy.time - busy.kernels + slack);
      }
      if (one_gpu.contains(a.rule->id)) {
        EXPECT_LE(saved_us, busy.time - busy.here + slack);
      }
      if (kernels.contains(a.rule->id)) {
        EXPECT_LE(saved_us, busy.kernels + slack);
      }
    }
  }
  for (const auto& ids : {host, one_gpu, kernels})
    for (const std::string& id : ids) EXPECT_GT(found[id], 0) << id;  // else this would say nothing of it
}

}  // namespace
}  // namespace tprof
