// The simulated driver as its clients see it: libcudart.so.* and libcupti.so.* dlopen libcuda.so.1, as the real ones
// do, and ask its one private export, simcuda_driver(), for this. Returned ints are Status numbers.
#pragma once
#include "listener.h"

namespace sim {

struct Driver {
  virtual int initialize() = 0;  // cuInit: the first call also serves CUDA_INJECTION64_PATH
  virtual int version() = 0;
  virtual void listen(Listener*) = 0;

  virtual u64 now() = 0;   // as the program's calls read it: a virtual clock moves on
  virtual u64 peek() = 0;  // as bystanders read it: it does not
  virtual bool virtual_time() = 0;
  virtual void use_clock(u64 (*)()) = 0;  // CUPTI's timestamp callback; real time only
  virtual u64 client_time(u64) = 0;       // a time as that callback would have told it

  // Every API call of a program stands between these two.
  virtual void enter(Call&) = 0;
  virtual void leave(Call&) = 0;

  virtual int device_count() = 0;
  virtual Device* device(int index) = 0;
  virtual Context* primary(int device) = 0;
  virtual Context* create_context(int device) = 0;
  virtual Context* current() = 0;  // null before the first use
  virtual void set_current(Context*) = 0;
  virtual std::vector<Context*> contexts() = 0;

  // A handle of the APIs: null and 1 are the legacy default stream, 2 the calling thread's own.
  virtual Stream* stream(void* handle, bool per_thread_default) = 0;
  virtual Stream* create_stream(u32 flags, int priority) = 0;
  virtual int destroy_stream(Stream*) = 0;
  virtual int query_stream(Stream*) = 0;
  virtual int wait_stream(Stream*) = 0;
  virtual int wait_context() = 0;

  virtual Event* create_event(bool timing) = 0;
  virtual int record_event(Event*, Stream*) = 0;
  virtual int wait_event(Event*) = 0;
  virtual int query_event(Event*) = 0;
  virtual int stream_wait_event(Stream*, Event*) = 0;

  virtual Kernel* add_kernel(const void* host, const char* name) = 0;
  virtual Kernel* find_kernel(const void* host_or_kernel) = 0;
  virtual void load(Kernel*) = 0;
  virtual int launch(const Launch&) = 0;
  virtual u64 would_begin(Stream*) = 0;  // work that is enqueued now
  virtual int copy(const Copy&) = 0;
  virtual int fill(const Fill&) = 0;
  virtual int host_function(Stream*, HostFunction, void*) = 0;

  virtual int allocate(void** pointer, size_t bytes, MemoryKind, Stream* stream, Pool*) = 0;
  virtual int release(void* pointer, Stream* stream) = 0;
  virtual int adopt(void* pointer, size_t bytes, MemoryKind, int device) = 0;  // memory of the caller's own
  virtual int disown(void* pointer) = 0;
  virtual MemoryKind kind_of(const void* pointer, int* device, u64* base, u64* bytes) = 0;
  virtual void memory_info(int device, u64* free_bytes, u64* total_bytes) = 0;
  virtual Pool* default_pool(int device) = 0;
  virtual Pool* create_pool(int device) = 0;
  virtual int trim_pool(Pool*, u64 kept_bytes) = 0;
  virtual int destroy_pool(Pool*) = 0;

  virtual int begin_capture(Stream*, CaptureMode) = 0;
  virtual int end_capture(Stream*, Graph**) = 0;
  virtual CaptureMode exchange_capture_mode(CaptureMode) = 0;  // of the calling thread
  virtual Graph* create_graph() = 0;
  virtual Node* add_node(Graph*, Node&&, Node* const* after, size_t count) = 0;
  virtual GraphExec* instantiate(Graph*) = 0;
  virtual void update(GraphExec*, Graph*) = 0;
  virtual int launch(GraphExec*, Stream*) = 0;
};

}  // namespace sim

extern "C" sim::Driver* simcuda_driver();
