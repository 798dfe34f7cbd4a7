#include "collect/torch/memory.h"

#include "base/elf.h"
#include "base/options.h"
#include "collect/interpreter/frames.h"
#include "collect/native/native.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "collect/torch/ops.h"

namespace tprof {

constinit std::atomic<MemoryState> g_memory{MemoryState::undecided};

namespace {

constexpr i8 kCpu = 0;

std::atomic<bool> g_reported{false};
std::atomic<bool> g_takes_stack{false};
std::atomic<u64> g_cpu_total{0};  // c10's last total, for reports that lack it

// Extent of libc10.so, found once.
std::atomic<uintptr_t> g_c10_low{0}, g_c10_high{0};

bool in_c10(const void* code) {
  if (!g_c10_high.load(std::memory_order_acquire)) {
    ElfObject c10 = ElfObject::mapped("libc10.so");
    if (!c10.found()) return true;
    g_c10_low.store(c10.low(), std::memory_order_relaxed);
    g_c10_high.store(c10.high(), std::memory_order_release);
  }
  auto at = reinterpret_cast<uintptr_t>(code);
  return at >= g_c10_low.load(std::memory_order_relaxed) && at < g_c10_high.load(std::memory_order_relaxed);
}

// torch's MapAllocator (shared memory, mapped files) reports a total of 0. c10's own allocator does so, too, when the
// last block is released: only the caller distinguishes them.
bool is_shared(const MemoryReport& r) {
  if (r.device_type != kCpu || r.total_allocated != 0 || !r.address) return false;
  return r.bytes > 0 || !in_c10(r.caller);
}

}  // namespace

MemoryState memory_decide() {
  Options options;
  OptionError error;
  bool on = parse_options(options, error) && options.profile_memory && !options.disable;
  MemoryState undecided = MemoryState::undecided;
  g_memory.compare_exchange_strong(undecided, on ? MemoryState::on : MemoryState::off);
  return g_memory.load();
}

void memory_reported(const MemoryReport& r) {
  MemoryRecord record;
  record.ticks = now_ticks();
  u32 flags = r.address ? 0 : kMemoryOutOfMemory;
  record.total_allocated = r.total_allocated;
  record.total_reserved = r.total_reserved;
  if (__builtin_expect(is_shared(r), 0)) {
    flags |= kMemoryShared;
    record.total_allocated = g_cpu_total.load(std::memory_order_relaxed);
    record.total_reserved = 0;
  } else if (r.device_type == kCpu && r.address) {
    g_cpu_total.store(r.total_allocated, std::memory_order_relaxed);
  }
  if (!g_reported.load(std::memory_order_relaxed)) g_reported.store(true, std::memory_order_relaxed);
  if (recording_epoch() == kNoEpoch) return;
  ThreadBlock* block = enter();
  if (!block) {
    g_writer.drop(Drop::reentered);
    return;
  }
  u32 epoch = recording_epoch();  // inside, so that who ends the window waits for this thread
  if (epoch == kNoEpoch) return leave(block);
  if (__builtin_expect(!block->torch_thread, 0)) learn_thread(block);
  record.address = reinterpret_cast<u64>(r.address);
  record.bytes = r.bytes;
  StackRef stack{};
  if (g_takes_stack.load(std::memory_order_relaxed))
    stack = {python_stack(block), native_on() ? native_stack(block, r.frame) : 0};
  add_memory(block, epoch, u32(u8(r.device_type)) | u32(u8(r.device_index)) << 8 | flags << 16, record, stack);
  leave(block);
}

void out_of_memory(i64 bytes, i8 device_type) {
  if (!g_session.options().trigger.out_of_memory) return;
  g_session.ask({TriggerWhy::out_of_memory, 0, {u64(bytes), u64(device_type != kCpu)}});
}

void memory_switch(bool on) {
  const Options& o = g_session.options();
  g_takes_stack.store((o.with_stack.bits & (kStackOperators | kStackNative)) && o.stack_on.has(kStackOnAlloc));
  g_memory.store(on ? MemoryState::on : MemoryState::off);
}

bool memory_was_reported() { return g_reported.load(); }

}  // namespace tprof
