// Streams, events and waiting: when work runs.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "engine.h"

namespace sim {
namespace {

constexpr u64 kLaunchLatency_ns = 3000;  // from the call to the first block

}  // namespace

Stream* Engine::add_stream(Context* context, u32 flags, int priority) {
  Stream* stream = new Stream;
  {
    Guard guard(mutex_);
    stream->id = ++last_stream_;
    stream->context = context;
    stream->flags = flags;
    stream->blocking = (flags & 1) == 0;
    stream->priority = priority;
    context->streams.push_back(stream);
    if (context->legacy == nullptr) context->legacy = stream;  // the first is the default one
    streams_.insert(stream);
  }
  if (Listener* listener = listener_) listener->stream(*stream, correlation());
  return stream;
}

Stream* Engine::stream(void* handle, bool per_thread_default) {
  u64 number = reinterpret_cast<u64>(handle);
  if (number > 2) {
    Stream* stream = static_cast<Stream*>(handle);
    Guard guard(mutex_);
    return streams_.count(stream) != 0 ? stream : nullptr;
  }
  Context* context = current();
  if (context == nullptr) set_current(context = primary(0));
  if (context == nullptr) return nullptr;
  if (number == 2 || (number == 0 && per_thread_default)) {
    auto key = std::make_pair(context, int(syscall(SYS_gettid)));
    {
      Guard guard(mutex_);
      auto made = thread_streams_.find(key);
      if (made != thread_streams_.end()) return made->second;
    }
    Stream* stream = add_stream(context, 0, 0);
    Guard guard(mutex_);
    return thread_streams_[key] = stream;
  }
  return context->legacy;
}

Stream* Engine::create_stream(u32 flags, int priority) {
  Stream* legacy = stream(nullptr, false);  // makes the context
  return legacy != nullptr ? add_stream(legacy->context, flags, priority) : nullptr;
}

int Engine::destroy_stream(Stream* stream) {
  Guard guard(mutex_);
  if (stream == stream->context->legacy || streams_.erase(stream) == 0) return kErrorInvalidResourceHandle;
  stream->alive = false;
  std::erase(stream->context->streams, stream);
  return kSuccess;
}

// The legacy default stream waits for all blocking streams of its context, and they for it.
u64 Engine::begin_on(Stream* stream, u64 earliest) const {
  u64 begin = std::max(earliest, stream->busy_until);
  Stream* legacy = stream->context->legacy;
  if (stream == legacy) {
    for (Stream* other : stream->context->streams)
      if (other->blocking) begin = std::max(begin, other->busy_until);
  } else if (stream->blocking) {
    begin = std::max(begin, legacy->busy_until);
  }
  return begin;
}

u64 Engine::would_begin(Stream* stream) {
  Guard guard(mutex_);
  return begin_on(stream, clock_.now() + kLaunchLatency_ns);
}

void Engine::schedule(Stream* stream, u64 earliest, u64 duration, Op* op) {
  u64 begin = begin_on(stream, earliest);
  op->begin = begin;
  op->end = stream->busy_until = begin + duration;
}

// What every operation says of where it was enqueued.
void Engine::mark(Stream* stream, Op* op, u64 begin, u64 duration_ns) {
  op->queued = clock_.now();
  op->device = stream->context->device->index;
  op->context = stream->context->id;
  op->stream = stream->id;
  op->correlation = correlation();
  schedule(stream, begin ? begin : op->queued + kLaunchLatency_ns, duration_ns ? duration_ns : duration(*op), op);
}

void Engine::report_sync(SyncKind kind, u64 begin, u32 stream, u32 event) {
  if (Listener* listener = listener_) {
    Context* context = current();
    listener->sync({kind, begin, clock_.now(), correlation(), context != nullptr ? context->id : 0, stream, event});
  }
}

int Engine::query_stream(Stream* stream) {
  if (breaks_capture()) return kErrorStreamCaptureUnsupported;
  Guard guard(mutex_);
  if (stream->capture != nullptr) return kErrorStreamCaptureUnsupported;
  return clock_.now() >= stream->busy_until ? kSuccess : kErrorNotReady;
}

int Engine::wait_stream(Stream* stream) {
  if (breaks_capture()) return kErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return kErrorStreamCaptureUnsupported;
  u64 begin = clock_.now(), until;
  {
    Guard guard(mutex_);
    until = stream->busy_until;
    if (stream == stream->context->legacy)
      for (Stream* other : stream->context->streams)
        if (other->blocking) until = std::max(until, other->busy_until);
  }
  clock_.sleep_until(until);
  report_sync(SyncKind::stream, begin, stream->id, 0);
  return kSuccess;
}

int Engine::wait_context() {
  if (breaks_capture()) return kErrorStreamCaptureUnsupported;
  Stream* legacy = stream(nullptr, false);
  if (legacy == nullptr) return kErrorNoDevice;
  u64 begin = clock_.now(), until = 0;
  {
    Guard guard(mutex_);
    for (Stream* other : legacy->context->streams) until = std::max(until, other->busy_until);
  }
  clock_.sleep_until(until);
  report_sync(SyncKind::context, begin, ~0u, 0);
  return kSuccess;
}

Event* Engine::create_event(bool timing) {
  Stream* legacy = stream(nullptr, false);
  Event* event = new Event;
  Guard guard(mutex_);
  event->id = ++last_event_;
  event->timing = timing;
  event->context = legacy != nullptr ? legacy->context : nullptr;
  events_.insert(event);
  return event;
}

int Engine::record_event(Event* event, Stream* stream) {
  EventRecord record{correlation(), u32(stream->context->device->index), stream->context->id, stream->id, event->id, 0};
  {
    Guard guard(mutex_);
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    if (stream->capture != nullptr) return kSuccess;
    event->recorded = true;
    event->time = std::max(clock_.now(), stream->busy_until);
    if (stream == stream->context->legacy)
      for (Stream* other : stream->context->streams)
        if (other->blocking) event->time = std::max(event->time, other->busy_until);
    record.time = event->time;
  }
  if (Listener* listener = listener_) listener->event(record);
  return kSuccess;
}

int Engine::wait_event(Event* event) {
  if (breaks_capture()) return kErrorStreamCaptureUnsupported;
  u64 begin = clock_.now();
  clock_.sleep_until(event->time);
  report_sync(SyncKind::event, begin, ~0u, event->id);
  return kSuccess;
}

int Engine::query_event(Event* event) {
  if (breaks_capture()) return kErrorStreamCaptureUnsupported;
  return clock_.now() >= event->time ? kSuccess : kErrorNotReady;
}

int Engine::stream_wait_event(Stream* stream, Event* event) {
  u64 begin = clock_.now();
  {
    Guard guard(mutex_);
    if (event->capture != nullptr) {
      if (stream->capture != nullptr && stream->capture != event->capture) return kErrorStreamCaptureMerge;
      captured_stream(event->capture, stream);
      for (Node* node : event->capture_tail)
        if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) == stream->capture_tail.end())
          stream->capture_tail.push_back(node);
      return kSuccess;
    }
    if (stream->capture != nullptr) return kSuccess;  // an event of before the capture has no say in the graph
    stream->busy_until = std::max(stream->busy_until, event->time);
  }
  report_sync(SyncKind::stream_waits, begin, stream->id, event->id);
  return kSuccess;
}

}  // namespace sim
