// THE table of Chrome/Kineto names: keys, categories and names that the trace format fixes, in one place for the
// reader, the writer and `tprof check`.
#pragma once
#include <string_view>

#include "base/types.h"

namespace tprof::kineto {

// Top level.
constexpr char kSchemaVersion[] = "schemaVersion";
constexpr char kDeviceProperties[] = "deviceProperties";
constexpr char kDistributedInfo[] = "distributedInfo";
constexpr char kBaseTime[] = "baseTimeNanoseconds";
constexpr char kDisplayTimeUnit[] = "displayTimeUnit";
constexpr char kTraceId[] = "trace_id";
constexpr char kHostName[] = "host_name";
constexpr char kTraceName[] = "traceName";
constexpr char kTraceEvents[] = "traceEvents";
constexpr char kStackFrames[] = "stackFrames";
constexpr char kSamples[] = "samples";
constexpr char kLedger[] = "tprof";
constexpr char kMerge[] = "tprof_merge";  // what `tprof merge` writes is no trace of one process

// Categories.
constexpr char kCpuOp[] = "cpu_op";
constexpr char kUserAnnotation[] = "user_annotation";
constexpr char kGpuUserAnnotation[] = "gpu_user_annotation";
constexpr char kForwardBackward[] = "fwdbwd";
constexpr char kLegacyForwardBackward[] = "forward_backward";  // of 2021 and 2022
constexpr char kTraceSpan[] = "Trace";
constexpr char kKernel[] = "kernel";
constexpr std::string_view kStreamRow = "stream ";  // and its number: the rows of streams in old traces
constexpr char kGpuMemcpy[] = "gpu_memcpy";
constexpr char kGpuMemset[] = "gpu_memset";
constexpr char kCudaRuntime[] = "cuda_runtime";
constexpr char kCudaDriver[] = "cuda_driver";
constexpr char kCudaSync[] = "cuda_sync";
constexpr char kCudaEvent[] = "cuda_event";
constexpr char kOverhead[] = "overhead";
constexpr char kPythonFunction[] = "python_function";
constexpr char kLaunchFlow[] = "ac2g";
constexpr char kLoaderWorker[] = "loader_worker";  // tprof's own: model/loader.h

// Names of single events.
constexpr char kProfilerSpan[] = "PyTorch Profiler (0)";
constexpr char kProfiler[] = "PyTorch Profiler";
constexpr char kIterationStart[] = "Iteration Start: PyTorch Profiler";
constexpr char kWindowEnd[] = "Record Window End";
constexpr char kStep[] = "ProfilerStep";
constexpr char kMemory[] = "[memory]";
constexpr char kOutOfMemory[] = "[OutOfMemory]";

// Keys of args.
constexpr char kExternalId[] = "External id";
constexpr char kCallStack[] = "Call stack";
constexpr char kInputDims[] = "Input Dims";
// What libkineto writes of the collectives of NCCL.
constexpr char kCollectiveName[] = "Collective name";
constexpr char kCollectiveType[] = "dtype";
constexpr char kInElements[] = "In msg nelems";
constexpr char kOutElements[] = "Out msg nelems";
constexpr char kGroupSize[] = "Group size";
constexpr char kGroupName[] = "Process Group Name";
constexpr char kGroupDescription[] = "Process Group Description";
constexpr char kGroupRanks[] = "Process Group Ranks";
constexpr char kGroupSequence[] = "Seq";
constexpr char kPeer[] = "Peer or root rank";  // not by libkineto, like the next one
constexpr char kAsync[] = "Async";
constexpr char kGroupRank[] = "Group Rank";
constexpr char kNetworkTime[] = "Network time (ns)";
constexpr char kKernelCorrelation[] = "Kernel correlation";  // of a call into NCCL
constexpr char kInputType[] = "Input type";
constexpr char kInputStrides[] = "Input Strides";
constexpr char kConcreteInputs[] = "Concrete Inputs";
constexpr char kLegacyExternalId[] = "external id";  // of 2021; readers prefer it to the other one
constexpr char kLegacyInputDims[] = "Input dims";
constexpr char kSequenceNumber[] = "Sequence number";
constexpr char kForwardThread[] = "Fwd thread id";
constexpr char kPythonId[] = "Python id";
constexpr char kPythonParentId[] = "Python parent id";
constexpr char kPythonModuleId[] = "Python module id";
// tprof's own: elements and bytes of the parameters of an nn.Module, including those of its children.
constexpr char kParameters[] = "Parameters";
constexpr char kParameterBytes[] = "Parameter bytes";
constexpr char kPythonThread[] = "Python thread";
constexpr char kCorrelation[] = "correlation";
// The size of a call, as libkineto writes it for HIP. "bytes", the key of copies, would not differ from the "Bytes" of
// memory events for engines that ignore case.
constexpr char kCallSize[] = "size";
// tprof's own: marks Evaluation#N and Inference#N, which are no labels of the program.
constexpr char kCut[] = "Cut";  // of a step: one of kStepCutTexts
constexpr char kStretch[] = "Stretch";
constexpr char kStretchBetween[] = "between steps";  // a value of kStretch
constexpr char kStretchInside[] = "inside a step";
constexpr char kBatches[] = "Batches";
constexpr char kCalls[] = "Calls";
constexpr char kLeftOut[] = "Left out";     // how many of the batches or calls were not recorded
constexpr char kContinued[] = "Continued";  // 1: it began before the span
// Of DataLoaders' workers. Durations are in ns.
constexpr char kLoader[] = "Loader";
constexpr char kWorker[] = "Worker";
constexpr char kWorkers[] = "Workers";
constexpr char kWorkerPid[] = "Worker pid";
constexpr char kWorkerKilled[] = "Killed";
constexpr char kCollateNs[] = "Collate ns";
constexpr char kCpuNs[] = "CPU ns";
constexpr char kWholeNs[] = "Whole ns";                   // an event that began before the span
constexpr char kClippedMark[] = "clipped at window end";  // a value of kOurMark
constexpr char kUnfinishedMark[] = "unfinished";
constexpr char kOurMark[] = "tprof";  // on events that are incomplete

// File names: <worker>.<time_ns>.pt.trace.json[.gz]; for steps that were counted before the program began to train,
// <worker>.before_training.<time_ns>...
constexpr char kBeforeTraining[] = ".before_training";
constexpr char kFileSuffix[] = ".pt.trace.json";
constexpr char kFileSuffixGz[] = ".pt.trace.json.gz";

// The row of the profiler itself is the last one: libkineto's sort index for it, here also its pid, which no process
// has.
constexpr int kSpansRow = 536870912;
constexpr char kSpans[] = "Spans";
// The rows of DataLoader n are those of the process kLoaderRows + n, which does not exist either.
constexpr int kLoaderRows = 536000000;
// GPUs come after every process, with CUPTI's own cost between them.
constexpr u32 kGpuSortIndex = 5000000;
constexpr int kOverheadSortIndex = 1048576;
// The row of waits for a stream is its number plus this, as in libkineto; the row before stream 0 is for waits without
// a stream.
constexpr i64 kSyncRows = 1000000;

// The plugin re-encodes a file whose recorded window is longer than this (86400000 us).
constexpr long long kLongestWindowUs = 86'400'000;

}  // namespace tprof::kineto
