#include "collect/native/native.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/native/images.h"
#include "collect/native/walk.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/stack_tree.h"
#include "collect/session/collector.h"
#include "collect/session/session.h"

namespace tprof {

constinit std::atomic<bool> g_native_on{false};

namespace {

// Innermost frames that are kept of a deeper stack: it looks the same at every depth of a recursion.
constexpr u32 kKeptOfDeeper = 128;

StackRange g_main_stack;

}  // namespace

struct NativeThread {
  u32 generation;  // the generation of the recording that `ids` belong to
  u32 maps;        // the value of g_maps for which all of this holds
  // The last stack, outermost frame first.
  bool cut;
  u32 depth;
  u64 at[kMaxNative];
  u32 ids[kMaxNative];
  WalkTables walk;
};

namespace {

NativeThread* make_thread(ThreadBlock* block) {
  int saved = errno;
  void* at = mmap(nullptr, sizeof(NativeThread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  return at == MAP_FAILED ? nullptr : block->native = static_cast<NativeThread*>(at);
}

// For a thread that uses the block for the first time, a new recording, or addresses that mean something else now.
void renew(ThreadBlock* block, NativeThread& t, u32 generation, u32 maps) {
  int saved = errno;
  t.walk.stacks.main = g_main_stack;
  if (!block->native_known) {
    // For the main thread it would have to read /proc/self/maps.
    t.walk.stacks.own = block->tid == u32(getpid()) ? StackRange{} : thread_stack();
    block->native_known = 1;
  }
  if (t.maps != maps) memset(static_cast<void*>(t.walk.rules), 0, sizeof t.walk.rules);
  t.generation = generation;
  t.maps = maps;
  t.depth = 0;
  errno = saved;
}

// Frame by frame, from the outermost one.
u32 intern_frames(NativeThread& t, Walk walked) {
  u64 map = u64(t.maps) << kMapShift;
  const u64* outermost = t.walk.found + walked.count - 1;
  u32 common = walked.cut == t.cut ? walked.count < t.depth ? walked.count : t.depth : 0, i = 0;
  while (i < common && t.at[i] == (outermost[-i64(i)] | map)) i++;
  u32 id = i ? t.ids[i - 1] : walked.cut ? stack_node(0, kStackCut, 0) : 0;
  for (; i < walked.count; i++) {
    t.at[i] = outermost[-i64(i)] | map;
    t.ids[i] = id = stack_node(id, 0, t.at[i]);
  }
  t.cut = walked.cut;
  t.depth = walked.count;
  return id;
}

void give_up() {
  g_native_on.store(false);
  g_session.capability("native_stacks", false,
                       "libraries were unmapped too often for their addresses to be told apart");
}

// Switches native stacks on if they are wanted and can be had, and notes which.
void prepare(const Options& options, bool) {
  if (!options.with_stack.has(kStackNative)) return;
#ifdef __x86_64__
  g_main_stack = main_stack();
  g_native_on.store(true);
  g_session.capability("native_stacks", true, "");
#else
  g_session.capability("native_stacks", false, "stacks are walked on x86-64 only");
#endif
}

}  // namespace

const Collector kNativeCollector{.session_starts = prepare, .forget = reset_images_in_child};

u32 native_stack(ThreadBlock* block, const void* frame) {
  NativeThread* t = block->native ? block->native : make_thread(block);
  if (__builtin_expect(!t, 0)) return kStackLost;
  u64 at = reinterpret_cast<u64>(frame);
  for (;;) {
    u32 generation = g_generation.load(std::memory_order_relaxed), maps = g_maps.load(std::memory_order_acquire);
    if (__builtin_expect(maps > kMaxMaps, 0)) return give_up(), kStackLost;
    if (__builtin_expect(!block->native_known || t->generation != generation || t->maps != maps, 0))
      renew(block, *t, generation, maps);
    const ThreadStacks& stacks = t->walk.stacks;
    StackRange range = stacks.main.holds(at) ? stacks.main : stacks.own.holds(at) ? stacks.own : signal_stack(at);
    if (__builtin_expect(!range.high, 0)) return 0;
    Walk walked = walk_stack(t->walk, at, range.high);
    // Did the addresses come to mean something else meanwhile?
    if (__builtin_expect(g_maps.load(std::memory_order_relaxed) != maps, 0)) continue;
    if (__builtin_expect(walked.count == kMaxNative, 0)) walked.count = kKeptOfDeeper;
    return intern_frames(*t, walked);
  }
}

}  // namespace tprof
