// The simulated driver itself. Work is carried out on the calling thread at once; what is simulated is when it would
// have run: every stream is a timeline, and an operation's begin and end are known the moment it is enqueued.
//   engine.cpp   life, calls, contexts        timeline.cpp  streams, events, waiting, when work runs
//   work.cpp     kernels, copies, fills       graphs.cpp    capture and replay       allocations.cpp
#pragma once
#include <map>
#include <mutex>
#include <set>

#include "clock.h"
#include "driver.h"
#include "memory.h"

namespace sim {

class Engine final : public Driver {
 public:
  Engine();

  int initialize() override;
  int version() override;
  void listen(Listener*) override;
  u64 now() override { return clock_.now(); }
  u64 peek() override { return clock_.peek(); }
  bool virtual_time() override { return clock_.is_virtual(); }
  void use_clock(u64 (*source)()) override { clock_.use(source); }
  u64 client_time(u64 time) override { return clock_.client(time); }
  void enter(Call&) override;
  void leave(Call&) override;

  int device_count() override { return int(devices_.size()); }
  Device* device(int index) override;
  Context* primary(int device) override;
  Context* create_context(int device) override;
  Context* current() override;
  void set_current(Context*) override;
  std::vector<Context*> contexts() override;

  Stream* stream(void* handle, bool per_thread_default) override;
  Stream* create_stream(u32 flags, int priority) override;
  int destroy_stream(Stream*) override;
  int query_stream(Stream*) override;
  int wait_stream(Stream*) override;
  int wait_context() override;
  Event* create_event(bool timing) override;
  int record_event(Event*, Stream*) override;
  int wait_event(Event*) override;
  int query_event(Event*) override;
  int stream_wait_event(Stream*, Event*) override;

  Kernel* add_kernel(const void* host, const char* name) override;
  Kernel* find_kernel(const void* host_or_kernel) override;
  void load(Kernel*) override;
  int launch(const Launch&) override;
  u64 would_begin(Stream*) override;
  int copy(const Copy&) override;
  int fill(const Fill&) override;
  int host_function(Stream*, HostFunction, void*) override;

  int allocate(void** pointer, size_t bytes, MemoryKind, Stream*, Pool*) override;
  int release(void* pointer, Stream*) override;
  int adopt(void* pointer, size_t bytes, MemoryKind, int device) override;
  int disown(void* pointer) override;
  MemoryKind kind_of(const void* pointer, int* device, u64* base, u64* bytes) override;
  void memory_info(int device, u64* free_bytes, u64* total_bytes) override;
  Pool* default_pool(int device) override { return default_pools_[device]; }
  Pool* create_pool(int device) override;
  int trim_pool(Pool*, u64 kept_bytes) override;
  int destroy_pool(Pool*) override;

  int begin_capture(Stream*, CaptureMode) override;
  int end_capture(Stream*, Graph**) override;
  CaptureMode exchange_capture_mode(CaptureMode) override;
  Graph* create_graph() override;
  Node* add_node(Graph*, Node&&, Node* const* after, size_t count) override;
  GraphExec* instantiate(Graph*) override;
  void update(GraphExec*, Graph*) override;
  int launch(GraphExec*, Stream*) override;

 private:
  using Guard = std::lock_guard<std::mutex>;

  Context* add_context(int device, bool primary);
  Stream* add_stream(Context*, u32 flags, int priority);
  u32 correlation() const;
  int refusal(const char* function);

  // Need the lock: when an operation may begin that is enqueued now, not before `earliest`; places it there.
  u64 begin_on(Stream*, u64 earliest) const;
  void schedule(Stream*, u64 earliest, u64 duration, Op* op);
  void mark(Stream*, Op* op, u64 begin = 0, u64 duration_ns = 0);
  void describe(const Launch&, Op* op);
  void describe(const Copy&, Op* op);
  void describe(const Fill&, Op* op);
  u64 duration(const Op&) const;
  void run(const Launch&, void** arguments);
  void run(const Copy&);
  void run(const Fill&);
  bool capture(Stream*, Node&&);
  void captured_stream(Graph*, Stream*);
  void forget_captures(Graph*);
  bool breaks_capture();
  void report_sync(SyncKind, u64 begin, u32 stream, u32 event);

  Clock clock_;
  std::mutex mutex_;
  std::vector<Device*> devices_;
  std::vector<Context*> contexts_, primaries_;
  std::vector<Pool*> default_pools_;
  std::map<std::pair<Context*, int>, Stream*> thread_streams_;
  std::set<const Stream*> streams_;
  std::set<const Event*> events_;
  std::map<const void*, Kernel*> kernels_;
  std::map<std::string, int> calls_of_;  // how often each function of SIMCUDA_FAIL was called
  Memory memory_;
  std::atomic<Listener*> listener_{nullptr};
  std::once_flag initialized_;
  std::atomic<u32> last_correlation_{0};
  u32 last_context_ = 0, last_stream_ = 6, last_event_ = 0, last_graph_ = 0;
  u64 last_node_ = 0, last_pool_ = 0;
};

}  // namespace sim
