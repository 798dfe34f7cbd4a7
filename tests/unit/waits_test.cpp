// Which calls waited for the GPU: told by what ended inside of them, under any vendor's names.
#include "analysis/basis/waits.h"

#include <gtest/gtest.h>

#include "analysis/time/activity.h"
#include "model_builder.h"

namespace tprof {
namespace {

constexpr u32 kToDevice = 1, kToHost = 2, kPageable = 1, kPinned = 2;

// Of the only call with this name: "5-60 for k" in us, "" where it did not wait.
std::string wait_of(Model model, const std::string& name) {
  Waits waits(model, NameClasses{model});
  for (u32 i = 0; i < model.calls.size(); i++) {
    if (model.names[model.calls[i].name] != name) continue;
    const Wait* wait = waits.of(i);
    if (!wait || wait->length() == 0) return "";
    return std::to_string(wait->begin_ns / 1000) + "-" + std::to_string(wait->end_ns / 1000) +
           (wait->work == kNone ? "" : " for " + model.names[model.gpu[wait->work].name]);
  }
  return "no such call";
}

// A kernel until 900, and a copy behind it at [begin, end) whose call lasts from 20 to `returns`.
Model kernel_and_copy(const char* call, u32 kind, u32 memory, i64 begin, i64 end, i64 returns) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k", 0, 10, 900);
  b.copy(kind, memory, 100, begin, end, b.call(call, 20, returns));
  return b.model();
}

TEST(Waits, ACopyToPageableMemoryWaitsForWhatItsStreamDidBefore) {
  EXPECT_EQ(wait_of(kernel_and_copy("cudaMemcpyAsync", kToHost, kPageable, 902, 904, 915), "cudaMemcpyAsync"),
            "20-900 for k");
  // ROCm does not say what memory the host's side is.
  EXPECT_EQ(wait_of(kernel_and_copy("hipMemcpyWithStream", kToHost, 0, 900, 904, 960), "hipMemcpyWithStream"),
            "20-900 for k");
  EXPECT_EQ(wait_of(kernel_and_copy("a vendor's copy", kToHost, 0, 901, 904, 915), "a vendor's copy"), "20-900 for k");
}

TEST(Waits, ACopyThatHasOnlyBegunByItsReturnWaitedAsWell) {
  EXPECT_EQ(wait_of(kernel_and_copy("hipMemcpyWithStream", kToDevice, 0, 905, 920, 918), "hipMemcpyWithStream"),
            "20-900 for k");
}

TEST(Waits, ACopyThatReturnsBeforeItsTurnDidNotWait) {
  EXPECT_EQ(wait_of(kernel_and_copy("cudaMemcpyAsync", kToHost, kPinned, 902, 904, 28), "cudaMemcpyAsync"), "");
  // What ends inside of a short call does so by chance.
  EXPECT_EQ(wait_of(kernel_and_copy("cudaMemcpyAsync", kToDevice, kPinned, 902, 904, 905), "cudaMemcpyAsync"),
            "20-900 for k");
  ModelBuilder b;
  b.launch("k", 0, 10, 24);
  b.copy(kToDevice, kPinned, 100, 25, 27, b.call("cudaMemcpyAsync", 20, 28));
  EXPECT_EQ(wait_of(b.model(), "cudaMemcpyAsync"), "");
}

TEST(Waits, ACopyWhoseStreamWaitedForAnotherOneWaitedForThat) {
  ModelBuilder b;
  b.launch("all_reduce", 0, 10, 400, 1, 20);
  b.copy(kToHost, kPageable, 100, 408, 409, b.call("cudaMemcpyAsync", 20, 415));
  EXPECT_EQ(wait_of(b.model(), "cudaMemcpyAsync"), "20-400 for all_reduce");
  ModelBuilder late;  // something else held it up
  late.launch("all_reduce", 0, 10, 300, 1, 20);
  late.copy(kToHost, kPageable, 100, 408, 409, late.call("cudaMemcpyAsync", 20, 415));
  EXPECT_EQ(wait_of(late.model(), "cudaMemcpyAsync"), "");
}

TEST(Waits, OtherStreamsDoNotHoldACopyUp) {
  ModelBuilder b;
  b.launch("other", 0, 10, 900, 1, 20);
  b.copy(kToHost, kPageable, 100, 25, 30, b.call("cudaMemcpyAsync", 20, 1000));
  EXPECT_EQ(wait_of(b.model(), "cudaMemcpyAsync"), "");
}

TEST(Waits, ALaunchWaitsIfItsKernelTookMostOfIt) {
  ModelBuilder blocking;  // CUDA_LAUNCH_BLOCKING
  blocking.kernel("k", 10, 90, blocking.call("cudaLaunchKernel", 5, 100));
  EXPECT_EQ(wait_of(blocking.model(), "cudaLaunchKernel"), "10-90 for k");
  ModelBuilder chance;
  chance.kernel("k", 12, 15, chance.call("cudaLaunchKernel", 5, 17));
  EXPECT_EQ(wait_of(chance.model(), "cudaLaunchKernel"), "");
  ModelBuilder loading;  // the first launch of a module
  loading.launch("before", 0, 5, 50);
  loading.kernel("k", 3000, 3004, loading.call("cuLaunchKernel", 5, 3005));
  EXPECT_EQ(wait_of(loading.model(), "cuLaunchKernel"), "");
}

TEST(Waits, ACallThatExistsToWaitDoesSoAllItsTime) {
  for (const char* name : {"cudaDeviceSynchronize", "hipEventSynchronize", "urQueueFinish", "zeEventHostSynchronize"}) {
    ModelBuilder b;
    b.launch("k", 0, 10, 900);
    b.call(name, 20, 910);
    EXPECT_EQ(wait_of(b.model(), name), "20-910 for k");
  }
  ModelBuilder alone;
  alone.call("cudaStreamSynchronize", 20, 25);
  EXPECT_EQ(wait_of(alone.model(), "cudaStreamSynchronize"), "20-25");
}

TEST(Waits, AWaitForOneStreamIsForThatOnesWork) {
  ModelBuilder b;
  b.launch("mine", 0, 10, 500, 1, 7);
  b.launch("another", 6, 12, 503, 1, 20);
  u32 call = b.call("cudaStreamSynchronize", 20, 505);
  SyncRecord record{};
  record.head.kind = static_cast<u16>(Kind::sync);
  GpuEvent sync;
  sync.begin_ns = 20'000;
  sync.dur_ns = 484'000;
  sync.record = reinterpret_cast<const RecordHead*>(b.raw().arena.copy(&record, sizeof record));
  sync.call = call;
  sync.stream = 7;
  b.raw().gpu.push_back(sync);
  EXPECT_EQ(wait_of(b.model(), "cudaStreamSynchronize"), "20-505 for mine");
}

TEST(Waits, CallsOfEveryVendorHaveTheirActivity) {
  const std::pair<const char*, Activity> calls[] = {
      {"hipModuleLaunchKernel", Activity::launching}, {"hipGraphLaunch", Activity::launching},
      {"urEnqueueKernelLaunch", Activity::launching}, {"urUSMDeviceAlloc", Activity::allocating},
      {"hipHostFree", Activity::allocating},          {"urEnqueueUSMFill", Activity::copying},
      {"hipMemsetAsync", Activity::copying},          {"hipEventSynchronize", Activity::synchronising},
      {"urEventWait", Activity::synchronising},       {"cudaMemset", Activity::copying}};
  for (auto [name, activity] : calls) {
    ModelBuilder b;
    b.call(name, 10, 20);
    Model model = b.model();
    NameClasses classes(model);
    Waits waits(model, classes);
    HostTimelines timelines(model, classes, waits);
    ASSERT_EQ(timelines.of(0).size(), 1u);
    EXPECT_EQ(timelines.of(0)[0].activity, activity) << name;
  }
}

TEST(Waits, AnyCallThatReturnsAsTheLastWorkGivenBeforeEndsWaitedForIt) {
  ModelBuilder b;
  b.launch("k", 0, 10, 500);
  b.call("cudaFree", 20, 510);
  b.launch("later", 520, 530, 900);  // given to the GPU behind it
  EXPECT_EQ(wait_of(b.model(), "cudaFree"), "20-500 for k");
  ModelBuilder early;  // the queue was empty in its middle
  early.launch("k", 0, 10, 200);
  early.call("cudaMalloc", 20, 500);
  EXPECT_EQ(wait_of(early.model(), "cudaMalloc"), "");
  ModelBuilder queued;  // more was queued
  queued.launch("k", 0, 10, 490);
  queued.launch("k", 6, 490, 900);
  queued.call("cudaHostAlloc", 20, 500);
  EXPECT_EQ(wait_of(queued.model(), "cudaHostAlloc"), "");
  ModelBuilder quick;
  quick.launch("k", 0, 10, 24);
  quick.call("cudaStreamIsCapturing", 20, 25);
  EXPECT_EQ(wait_of(quick.model(), "cudaStreamIsCapturing"), "");
}

}  // namespace
}  // namespace tprof
