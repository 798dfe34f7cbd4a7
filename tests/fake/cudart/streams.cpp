// Streams, events and graphs.
#include <algorithm>

#include "runtime.h"

namespace sim::body {

int cudaStreamCreateWithPriority(Handle* stream, u32 flags, int priority) {
  *stream = driver()->create_stream(flags, priority);
  return *stream != nullptr ? kSuccess : kErrorNoDevice;
}

int cudaStreamCreateWithFlags(Handle* stream, u32 flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }

int cudaStreamCreate(Handle* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

int cudaStreamDestroy(Handle stream) {
  Stream* at = stream_of(stream);
  return at != nullptr ? driver()->destroy_stream(at) : int(kErrorInvalidResourceHandle);
}

int cudaStreamGetPriority(Handle stream, int* priority) {
  Stream* at = stream_of(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *priority = at->priority;
  return kSuccess;
}

int cudaStreamGetFlags(Handle stream, u32* flags) {
  Stream* at = stream_of(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *flags = at->flags;
  return kSuccess;
}

#if SIM_MAJOR >= 12
int cudaStreamGetId(Handle stream, u64* id) {
  Stream* at = stream_of(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *id = at->id;
  return kSuccess;
}
#endif

int cudaStreamSynchronize(Handle stream) {
  Stream* at = stream_of(stream);
  return at != nullptr ? driver()->wait_stream(at) : int(kErrorInvalidResourceHandle);
}

int cudaStreamQuery(Handle stream) {
  Stream* at = stream_of(stream);
  return at != nullptr ? driver()->query_stream(at) : int(kErrorInvalidResourceHandle);
}

int cudaStreamWaitEvent(Handle stream, Handle event, u32) {
  Stream* at = stream_of(stream);
  if (at == nullptr || event == nullptr) return kErrorInvalidResourceHandle;
  return driver()->stream_wait_event(at, static_cast<Event*>(event));
}

int cudaEventCreateWithFlags(Handle* event, u32 flags) {
  *event = driver()->create_event((flags & 2) == 0);
  return kSuccess;
}

int cudaEventCreate(Handle* event) { return cudaEventCreateWithFlags(event, 0); }

int cudaEventDestroy(Handle event) { return event != nullptr ? kSuccess : kErrorInvalidResourceHandle; }

int cudaEventRecordWithFlags(Handle event, Handle stream, u32) {
  Stream* at = stream_of(stream);
  if (at == nullptr || event == nullptr) return kErrorInvalidResourceHandle;
  return driver()->record_event(static_cast<Event*>(event), at);
}

int cudaEventRecord(Handle event, Handle stream) { return cudaEventRecordWithFlags(event, stream, 0); }

int cudaEventSynchronize(Handle event) {
  return event != nullptr ? driver()->wait_event(static_cast<Event*>(event)) : int(kErrorInvalidResourceHandle);
}

int cudaEventQuery(Handle event) {
  return event != nullptr ? driver()->query_event(static_cast<Event*>(event)) : int(kErrorInvalidResourceHandle);
}

int cudaEventElapsedTime(float* ms, Handle begin, Handle end) {
  auto *from = static_cast<Event*>(begin), *to = static_cast<Event*>(end);
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded || !from->timing || !to->timing)
    return kErrorInvalidResourceHandle;
  if (driver()->query_event(to) != kSuccess) return kErrorNotReady;
  *ms = float(double(i64(to->time - from->time)) * 1e-6);
  return kSuccess;
}

int cudaIpcGetEventHandle(void*, Handle) { return kErrorNotSupported; }

int cudaIpcOpenEventHandle(Handle*, IpcHandle) { return kErrorNotSupported; }

int cudaStreamBeginCapture(Handle stream, int mode) {
  Stream* at = stream_of(stream);
  return at != nullptr ? driver()->begin_capture(at, CaptureMode(mode)) : int(kErrorInvalidResourceHandle);
}

int cudaStreamEndCapture(Handle stream, Handle* graph) {
  Stream* at = stream_of(stream);
  Graph* captured = nullptr;
  int result = at != nullptr ? driver()->end_capture(at, &captured) : int(kErrorInvalidResourceHandle);
  *graph = captured;
  return result;
}

int cudaStreamIsCapturing(Handle stream, int* status) {
  Stream* at = stream_of(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *status = at->capture != nullptr;
  return kSuccess;
}

// Every one of these may be left out but the status.
static int capture_info(Handle stream, int* status, u64* id, Handle* graph, const Handle** tail, size_t* count) {
  if (int failure = cudaStreamIsCapturing(stream, status)) return failure;
  if (*status == 0) return kSuccess;
  Stream* at = stream_of(stream);
  if (id != nullptr) *id = at->capture->id;
  if (graph != nullptr) *graph = at->capture;
  if (tail != nullptr) *tail = reinterpret_cast<const Handle*>(at->capture_tail.data());
  if (count != nullptr) *count = at->capture_tail.size();
  return kSuccess;
}

#if SIM_MAJOR == 11
int cudaStreamGetCaptureInfo(Handle stream, int* status, u64* id) {
  return capture_info(stream, status, id, nullptr, nullptr, nullptr);
}
#endif

#if SIM_MAJOR <= 12
int cudaStreamGetCaptureInfo_v2(Handle stream, int* status, u64* id, Handle* graph, const Handle** tail,
                                size_t* count) {
  return capture_info(stream, status, id, graph, tail, count);
}
#else
int cudaStreamGetCaptureInfo(Handle stream, int* status, u64* id, Handle* graph, const Handle** tail,
                             const void** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return capture_info(stream, status, id, graph, tail, count);
}
#endif

#if SIM_MAJOR >= 13
int cudaStreamBeginCaptureToGraph(Handle, Handle, const Handle*, const void*, size_t, int) {
  return kErrorNotSupported;
}

// Flag 1: the nodes become what the stream's next work waits for; 0: they are added to that.
int cudaStreamUpdateCaptureDependencies(Handle stream, Handle* nodes, const void*, size_t count, u32 flags) {
  Stream* at = stream_of(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  if (at->capture == nullptr) return kErrorIllegalState;
  if (flags & 1) at->capture_tail.clear();
  for (size_t i = 0; i < count; i++) at->capture_tail.push_back(static_cast<Node*>(nodes[i]));
  return kSuccess;
}
#endif

int cudaThreadExchangeStreamCaptureMode(int* mode) {
  *mode = int(driver()->exchange_capture_mode(CaptureMode(*mode)));
  return kSuccess;
}

int cudaGraphCreate(Handle* graph, u32) {
  *graph = driver()->create_graph();
  return kSuccess;
}

static int add(Handle* out, Handle graph, Node&& node, const Handle* after, size_t count) {
  *out = driver()->add_node(static_cast<Graph*>(graph), std::move(node), reinterpret_cast<Node* const*>(after), count);
  return kSuccess;
}

int cudaGraphAddKernelNode(Handle* out, Handle graph, const Handle* after, size_t count, const KernelNode* kernel) {
  Node node;
  node.kind = Node::kernel;
  Handle handle;
  if (int failure = cudaGetFuncBySymbol(&handle, kernel->function)) return failure;
  node.launch.kernel = static_cast<Kernel*>(handle);
  node.launch.grid = kernel->grid;
  node.launch.block = kernel->block;
  node.launch.shared_bytes = kernel->shared_bytes;
  node.launch.arguments = kernel->arguments;
  return add(out, graph, std::move(node), after, count);
}

int cudaGraphAddMemcpyNode1D(Handle* out, Handle graph, const Handle* after, size_t count, void* to, const void* from,
                             size_t bytes, int kind) {
  Node node;
  node.kind = Node::copy;
  node.copying.to = to;
  node.copying.from = from;
  node.copying.width = bytes;
  node.copying.direction = kind;
  node.copying.async = true;
  return add(out, graph, std::move(node), after, count);
}

int cudaGraphAddEmptyNode(Handle* out, Handle graph, const Handle* after, size_t count) {
  return add(out, graph, Node(), after, count);
}

int cudaGraphGetNodes(Handle graph, Handle* nodes, size_t* count) {
  const auto& all = static_cast<Graph*>(graph)->nodes;
  if (nodes != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
  *count = all.size();
  return kSuccess;
}

int cudaGraphNodeGetType(Handle node, int* type) {
  static constexpr int kTypes[] = {0, 1, 2, 3, 5};  // kernel, memcpy, memset, host, empty
  *type = kTypes[static_cast<Node*>(node)->kind];
  return kSuccess;
}

#if SIM_MAJOR >= 13
int cudaGraphNodeGetDependencies(Handle node, Handle* before, void*, size_t* count) {
  const auto& all = static_cast<Node*>(node)->after;
  if (before != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), before);
  *count = all.size();
  return kSuccess;
}

// Nodes of a kind that their parameters tell: conditional ones, in PyTorch.
int cudaGraphAddNode(Handle*, Handle, const Handle*, const void*, size_t, void*) { return kErrorNotSupported; }

int cudaGraphConditionalHandleCreate(u64*, Handle, u32, u32) { return kErrorNotSupported; }
#endif

int cudaGraphInstantiateWithFlags(Handle* exec, Handle graph, u64) {
  if (graph == nullptr) return kErrorInvalidValue;
  *exec = driver()->instantiate(static_cast<Graph*>(graph));
  return kSuccess;
}

#if SIM_MAJOR == 11
int cudaGraphInstantiate(Handle* exec, Handle graph, Handle*, char*, size_t) {
#else
int cudaGraphInstantiate(Handle* exec, Handle graph, u64) {
#endif
  return cudaGraphInstantiateWithFlags(exec, graph, 0);
}

#if SIM_MAJOR == 11
int cudaGraphExecUpdate(Handle exec, Handle graph, Handle*, int* result) {
  if (result != nullptr) *result = 0;
#else
int cudaGraphExecUpdate(Handle exec, Handle graph, UpdateResult* result) {
  if (result != nullptr) *result = {};
#endif
  driver()->update(static_cast<GraphExec*>(exec), static_cast<Graph*>(graph));
  return kSuccess;
}

int cudaGraphDebugDotPrint(Handle, const char*, u32) { return kErrorNotSupported; }

int cudaGraphUpload(Handle exec, Handle) { return exec != nullptr ? kSuccess : kErrorInvalidValue; }

int cudaGraphLaunch(Handle exec, Handle stream) {
  return exec != nullptr ? driver()->launch(static_cast<GraphExec*>(exec), stream_of(stream)) : int(kErrorInvalidValue);
}

int cudaGraphExecDestroy(Handle exec) { return exec != nullptr ? kSuccess : kErrorInvalidValue; }

int cudaGraphDestroy(Handle graph) { return graph != nullptr ? kSuccess : kErrorInvalidValue; }

// A user object lives for ever, as graphs do: `destroy` is never called.
int cudaUserObjectCreate(Handle* object, void*, HostFunction, u32, u32) {
  *object = new char;
  return kSuccess;
}

int cudaUserObjectRelease(Handle object, u32) { return object != nullptr ? kSuccess : kErrorInvalidValue; }

int cudaGraphRetainUserObject(Handle graph, Handle object, u32, u32) {
  return graph != nullptr && object != nullptr ? kSuccess : kErrorInvalidValue;
}

// Graphs allocate no memory of their own.
int cudaDeviceGetGraphMemAttribute(int, int, void* value) {
  *static_cast<u64*>(value) = 0;
  return kSuccess;
}

int cudaDeviceSetGraphMemAttribute(int, int, void*) { return kSuccess; }

}  // namespace sim::body
