#include "collect/native/native.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/native/images.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/stack_tree.h"
#include "collect/session/session.h"

extern "C" {
extern void* __libc_stack_end;  // the loader's: where the main thread's stack began
// The linker's: from where to where this library is mapped.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace tprof {

constinit std::atomic<bool> g_native_on{false};

namespace {

constexpr u32 kRules = 2048;       // places in code known per thread
constexpr u32 kMostNative = 8192;  // of a stack
constexpr u32 kKeptOfMore = 128;   // innermost frames of a deeper one: the same at every depth of a recursion
constexpr u64 kMapMask = kMaxMaps << kMapShift;

struct StackRange {
  u64 low = 0, high = 0;
  bool holds(u64 at) const { return at >= low && at < high; }
};

StackRange g_main_stack;

}  // namespace

struct NativeThread {
  u32 generation;    // of the recording that `ids` belong to
  u32 maps;          // g_maps for which all of this holds
  StackRange stack;  // of this thread, unless it is the main one's
  // The last stack, outermost frame first.
  bool cut;
  u32 depth;
  u64 at[kMostNative];
  u32 ids[kMostNative];
  u64 fresh[kMostNative];  // of this one, innermost first
  FrameRule rules[kRules];
};

namespace {

NativeThread* make_thread(ThreadBlock* block) {
  int saved = errno;
  void* at = mmap(nullptr, sizeof(NativeThread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  return at == MAP_FAILED ? nullptr : block->native = static_cast<NativeThread*>(at);
}

// A thread that uses the block for the first time, a new recording, or addresses that mean something else now.
void renew(ThreadBlock* block, NativeThread& t, u32 generation, u32 maps) {
  int saved = errno;
  if (!block->native_known) {
    pthread_attr_t attributes;
    t.stack = {};
    // Of the main thread it would have to read /proc/self/maps.
    if (block->tid != u32(getpid()) && pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* low;
      size_t bytes;
      if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) t.stack = {u64(low), u64(low) + bytes};
      pthread_attr_destroy(&attributes);
    }
    block->native_known = 1;
  }
  if (t.maps != maps) memset(static_cast<void*>(t.rules), 0, sizeof t.rules);
  t.generation = generation;
  t.maps = maps;
  t.depth = 0;
  errno = saved;
}

__attribute__((noinline)) const FrameRule& learn(FrameRule& slot, u64 pc) {
  int saved = errno;
  slot = frame_rule(eh_frame_of(pc), pc);
  errno = saved;
  return slot;
}

inline const FrameRule& rule_at(NativeThread& t, u64 pc) {
  FrameRule& slot = t.rules[(pc * 0x9e3779b97f4a7c15ull) >> 53];
  static_assert(kRules == 1 << (64 - 53));
  return __builtin_expect(slot.pc == pc, 1) ? slot : learn(slot, pc);
}

// Our wrappers, and the one around main.
inline bool is_ours(u64 pc) { return pc - reinterpret_cast<u64>(__ehdr_start) < u64(_end - __ehdr_start); }

inline u64 load(u64 at) { return *reinterpret_cast<const u64*>(at); }

struct Walk {
  u32 count;
  bool cut;  // there are more frames outside
};

// Fills t.fresh. Every word read lies between the given frame and the stack's end.
__attribute__((no_sanitize("address"))) Walk walk(NativeThread& t, u64 frame, u64 end) {
  u64 bp = load(frame), pc = load(frame + 8), sp = frame + 16, low = sp;
  auto readable = [&](u64 at) { return at >= low && at <= end - 8 && at % 8 == 0; };
  u32 count = 0;
  while (pc) {
    if (count == kMostNative || pc & kMapMask) return {count, true};
    if (!is_ours(pc)) t.fresh[count++] = pc;
    const FrameRule& rule = rule_at(t, pc - 1);
    u64 cfa = 0, saved_at = 0;
    switch (rule.cfa) {
      case CfaBy::outermost: return {count, false};
      case CfaBy::rsp: cfa = sp + i64(rule.cfa_offset); break;
      case CfaBy::rbp: cfa = bp + i64(rule.cfa_offset); break;
      case CfaBy::at_rbp:
        if (u64 at = bp + i64(rule.cfa_offset); readable(at)) cfa = load(at);
        break;
      case CfaBy::absent:  // code made at run time: perhaps it keeps frame pointers
        if (!bp) return {count, false};
        cfa = bp + 16;
        if (!readable(bp) || !readable(bp + 8) || rule_at(t, load(bp + 8) - 1).cfa == CfaBy::absent)
          return {count, true};
        saved_at = bp;
        break;
      case CfaBy::unknown: return {count, true};
    }
    if (cfa <= sp || !readable(cfa - 8)) return {count, true};
    if (rule.rbp == RbpBy::cfa) saved_at = cfa + i64(rule.rbp_offset);
    if (rule.rbp == RbpBy::rbp) saved_at = bp + i64(rule.rbp_offset);
    if (saved_at) bp = readable(saved_at) ? load(saved_at) : 0;
    if (rule.rbp == RbpBy::lost) bp = 0;
    pc = load(cfa - 8);
    sp = cfa;
  }
  return {count, false};
}

// From the outermost frame on.
u32 intern_frames(NativeThread& t, Walk walked) {
  bool same = walked.cut == t.cut;
  u32 id = walked.cut ? stack_node(0, kStackCut, 0) : 0;
  u64 map = u64(t.maps) << kMapShift;
  for (u32 i = 0; i < walked.count; i++) {
    u64 at = t.fresh[walked.count - 1 - i] | map;
    same = same && i < t.depth && t.at[i] == at;
    if (same) {
      id = t.ids[i];
      continue;
    }
    t.at[i] = at;
    t.ids[i] = id = stack_node(id, 0, at);
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

}  // namespace

void native_prepare(const Options& options) {
  if (!options.with_stack.has(kStackNative)) return;
#ifdef __x86_64__
  constexpr u64 kGap = 128 << 20;  // the kernel maps nothing else so near below the main thread's stack
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  u64 high = reinterpret_cast<u64>(__libc_stack_end);
  g_main_stack = {high - (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < kGap ? kGap : limit.rlim_cur), high};
  g_native_on.store(true);
  g_session.capability("native_stacks", true, "");
#else
  g_session.capability("native_stacks", false, "stacks are walked on x86-64 only");
#endif
}

u32 native_stack(ThreadBlock* block, const void* frame) {
  NativeThread* t = block->native ? block->native : make_thread(block);
  if (__builtin_expect(!t, 0)) return kStackLost;
  u64 at = reinterpret_cast<u64>(frame);
  for (;;) {
    u32 generation = g_generation.load(std::memory_order_relaxed), maps = g_maps.load(std::memory_order_acquire);
    if (__builtin_expect(maps > kMaxMaps, 0)) return give_up(), kStackLost;
    if (__builtin_expect(!block->native_known || t->generation != generation || t->maps != maps, 0))
      renew(block, *t, generation, maps);
    const StackRange& range = g_main_stack.holds(at) ? g_main_stack : t->stack;
    if (!range.holds(at)) return 0;
    Walk walked = walk(*t, at, range.high);
    if (__builtin_expect(g_maps.load(std::memory_order_relaxed) != maps, 0)) continue;  // what was walked means less
    if (__builtin_expect(walked.count == kMostNative, 0)) walked.count = kKeptOfMore;
    return intern_frames(*t, walked);
  }
}

}  // namespace tprof
