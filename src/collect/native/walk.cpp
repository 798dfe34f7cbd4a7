#include "collect/native/walk.h"

#include <errno.h>

#include "collect/native/images.h"
#include "collect/native/own_code.h"

namespace tprof {
namespace {

__attribute__((noinline)) const FrameRule& learn(FrameRule& slot, u64 pc) {
  int saved = errno;
  slot = frame_rule(eh_frame_of(pc), pc);
  errno = saved;
  return slot;
}

inline const FrameRule& rule_at(WalkTables& tables, u64 pc) {
  FrameRule& slot = tables.rules[(pc * 0x9e3779b97f4a7c15ull) >> (64 - kRuleBits)];
  return __builtin_expect(slot.pc == pc, 1) ? slot : learn(slot, pc);
}

inline u64 load(u64 at) { return *reinterpret_cast<const u64*>(at); }

}  // namespace

__attribute__((no_sanitize("address"))) Walk walk_stack(WalkTables& tables, u64 frame, u64 end) {
  u64 bp = load(frame), pc = load(frame + 8), sp = frame + 16, low = sp;
  auto readable = [&](u64 at) { return at >= low && at <= end - 8 && at % 8 == 0; };
  u32 count = 0;
  while (pc) {
    if (count == kMaxNative || pc & kNoAddress) return {count, true};
    if (!is_ours(pc)) tables.found[count++] = pc;
    const FrameRule rule = rule_at(tables, pc - 1);  // a copy: the next one may have the same slot
    u64 cfa = 0, saved_at = 0;
    if (__builtin_expect(rule.cfa == CfaBy::rsp, 1)) {
      cfa = sp + u64(i64(rule.cfa_offset));
    } else if (rule.cfa == CfaBy::rbp) {
      cfa = bp + u64(i64(rule.cfa_offset));
    } else if (rule.cfa == CfaBy::at_rbp) {
      if (u64 at = bp + u64(i64(rule.cfa_offset)); readable(at)) cfa = load(at);
    } else if (rule.cfa == CfaBy::outermost) {
      return {count, false};
    } else if (rule.cfa == CfaBy::other) {
      return walk_registers(tables, {low, end}, {sp, bp, pc, count});
    } else {  // code generated at run time: it may keep frame pointers
      if (!bp) return {count, false};
      cfa = bp + 16;
      if (!readable(bp) || !readable(bp + 8) || rule_at(tables, load(bp + 8) - 1).cfa == CfaBy::absent)
        return {count, true};
      saved_at = bp;
    }
    if (cfa <= sp || !readable(cfa - 8)) return {count, true};
    if (rule.rbp == RbpBy::cfa) saved_at = cfa + u64(i64(rule.rbp_offset));
    if (rule.rbp == RbpBy::rbp) saved_at = bp + u64(i64(rule.rbp_offset));
    if (saved_at) bp = readable(saved_at) ? load(saved_at) : 0;
    if (rule.rbp == RbpBy::lost) bp = 0;
    pc = load(cfa - 8);
    sp = cfa;
  }
  return {count, false};
}

}  // namespace tprof
