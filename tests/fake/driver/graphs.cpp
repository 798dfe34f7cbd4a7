// Graphs: stream capture, and replay with the dependencies that were captured.
#include <algorithm>
#include <utility>

#include "engine.h"

namespace sim {
namespace {

constexpr u64 kGraphLatency_ns = 5000;

thread_local CaptureMode t_mode = CaptureMode::global;

}  // namespace

Graph* Engine::create_graph() {
  Graph* graph = new Graph;
  Guard guard(mutex_);
  graph->id = ++last_graph_;
  return graph;
}

// Needs the lock.
void Engine::captured_stream(Graph* graph, Stream* stream) {
  if (stream->capture == graph) return;
  stream->capture = graph;
  stream->capture_tail.clear();
  graph->captured.push_back(stream);
}

// Needs the lock.
void Engine::forget_captures(Graph* graph) {
  for (Stream* stream : graph->captured) {
    stream->capture = nullptr;
    stream->capture_tail.clear();
  }
  for (const Event* event : events_)
    if (event->capture == graph) const_cast<Event*>(event)->capture = nullptr;
}

CaptureMode Engine::exchange_capture_mode(CaptureMode mode) { return std::exchange(t_mode, mode); }

// For calls that CUDA names potentially unsafe: they fail, and end the captures that forbid them to this thread. Rules:
// cudaThreadExchangeStreamCaptureMode.
bool Engine::breaks_capture() {
  if (t_mode == CaptureMode::relaxed) return false;
  Guard guard(mutex_);
  bool broken = false;
  for (const Stream* stream : streams_) {
    Graph* graph = stream->capture;
    if (graph == nullptr || graph->mode == CaptureMode::relaxed) continue;
    bool everywhere = graph->mode == CaptureMode::global && t_mode == CaptureMode::global;
    if (everywhere || graph->thread == std::this_thread::get_id()) broken = graph->invalid = true;
  }
  return broken;
}

int Engine::begin_capture(Stream* stream, CaptureMode mode) {
  if (stream == stream->context->legacy) return kErrorStreamCaptureUnsupported;
  Graph* graph = create_graph();
  Guard guard(mutex_);
  if (stream->capture != nullptr) return kErrorIllegalState;
  graph->mode = mode;
  graph->thread = std::this_thread::get_id();
  captured_stream(graph, stream);
  return kSuccess;
}

int Engine::end_capture(Stream* stream, Graph** graph) {
  Guard guard(mutex_);
  *graph = stream->capture;
  if (*graph == nullptr) return kErrorIllegalState;
  forget_captures(*graph);
  if (!(*graph)->invalid) return kSuccess;
  *graph = nullptr;
  return kErrorStreamCaptureInvalidated;
}

// True: the stream is being captured, and the work has become a node.
bool Engine::capture(Stream* stream, Node&& work) {
  Guard guard(mutex_);
  Graph* graph = stream->capture;
  if (graph == nullptr) return false;
  Node* node = new Node(std::move(work));
  node->id = ++last_node_;
  node->lane = u32(std::find(graph->captured.begin(), graph->captured.end(), stream) - graph->captured.begin());
  node->after = stream->capture_tail;
  if (node->kind == Node::kernel) {
    const Launch& launch = node->launch;
    for (size_t i = 0; launch.arguments != nullptr && i < launch.kernel->parameter_bytes.size(); i++) {
      auto* value = static_cast<const u8*>(launch.arguments[i]);
      node->arguments.emplace_back(value, value + launch.kernel->parameter_bytes[i]);
    }
  }
  graph->nodes.push_back(node);
  stream->capture_tail = {node};
  return true;
}

Node* Engine::add_node(Graph* graph, Node&& work, Node* const* after, size_t count) {
  if (work.kind == Node::kernel) load(work.launch.kernel);
  Node* node = new Node(std::move(work));
  Guard guard(mutex_);
  node->id = ++last_node_;
  node->after.assign(after, after + count);
  // A node goes on where its first dependency ran, unless another has gone on there already.
  u32 lanes = 1;
  for (Node* other : graph->nodes) lanes = std::max(lanes, other->lane + 1);
  bool free = !node->after.empty();
  if (free)
    for (Node* other : graph->nodes) free &= other->after.empty() || other->after[0] != node->after[0];
  node->lane = graph->nodes.empty() ? 0 : free ? node->after[0]->lane : lanes;
  for (size_t i = 0; node->kind == Node::kernel && i < node->launch.kernel->parameter_bytes.size(); i++) {
    auto* value = static_cast<const u8*>(node->launch.arguments[i]);
    node->arguments.emplace_back(value, value + node->launch.kernel->parameter_bytes[i]);
  }
  graph->nodes.push_back(node);
  return node;
}

GraphExec* Engine::instantiate(Graph* graph) {
  GraphExec* exec = new GraphExec;
  {
    Guard guard(mutex_);
    exec->id = ++last_graph_;
  }
  update(exec, graph);
  return exec;
}

void Engine::update(GraphExec* exec, Graph* graph) {
  exec->nodes = graph->nodes;
  size_t lanes = 1;
  for (Node* node : exec->nodes) lanes = std::max<size_t>(lanes, node->lane + 1);
  while (exec->lanes.size() < lanes) exec->lanes.push_back(exec->lanes.empty() ? nullptr : create_stream(1, 0));
}

int Engine::launch(GraphExec* exec, Stream* stream) {
  if (stream == nullptr) return kErrorInvalidResourceHandle;
  std::vector<Op> ops;
  Op whole;
  whole.kind = Op::graph;
  {
    Guard guard(mutex_);
    if (stream->capture != nullptr) return kErrorStreamCaptureUnsupported;  // child graphs are not simulated
    std::map<Node*, u64> ends;
    u64 queued = clock_.now(), last = 0;
    Op begin;
    schedule(stream, queued + kGraphLatency_ns, 0, &begin);  // waits as any work on this stream does
    for (Node* node : exec->nodes) {
      Stream* lane = node->lane == 0 ? stream : exec->lanes[node->lane];
      u64 earliest = begin.begin;
      for (Node* before : node->after) earliest = std::max(earliest, ends[before]);
      Op op;
      if (node->kind == Node::kernel)
        describe(node->launch, &op);
      else if (node->kind == Node::copy)
        describe(node->copying, &op);
      else if (node->kind == Node::fill)
        describe(node->filling, &op);
      else {
        ends[node] = earliest;
        continue;
      }
      op.queued = queued;
      op.device = stream->context->device->index;
      op.context = stream->context->id;
      op.stream = lane->id;
      op.correlation = correlation();
      op.graph_id = exec->id;
      op.graph_node = node->id;
      op.begin = node->lane == 0 ? std::max(earliest, stream->busy_until) : std::max(earliest, lane->busy_until);
      op.end = lane->busy_until = op.begin + duration(op);
      ends[node] = op.end;
      last = std::max(last, op.end);
      ops.push_back(op);
    }
    stream->busy_until = std::max(stream->busy_until, last);
    whole.queued = queued;
    whole.begin = ops.empty() ? begin.begin : ops[0].begin;
    whole.end = std::max(whole.begin, last);
    whole.device = stream->context->device->index;
    whole.context = stream->context->id;
    whole.stream = stream->id;
    whole.correlation = correlation();
    whole.graph_id = exec->id;
  }
  for (Node* node : exec->nodes) {
    std::vector<void*> arguments;
    for (auto& value : node->arguments) arguments.push_back(value.data());
    if (node->kind == Node::kernel)
      run(node->launch, arguments.empty() ? nullptr : arguments.data());
    else if (node->kind == Node::copy)
      run(node->copying);
    else if (node->kind == Node::fill)
      run(node->filling);
    else if (node->kind == Node::host)
      node->function(node->function_data);
  }
  if (Listener* listener = listener_) {
    for (const Op& op : ops) listener->op(op);
    listener->op(whole);
  }
  return kSuccess;
}

}  // namespace sim
