// Takes one stack with both walkers and compares them.
//
// Differences on purpose:
// * Of a function that a signal interrupted, ours gives the address plus 1 (see walk.h).
// * Frames of the library that holds ours are left out by ours; here they are those of this test.
// Where libunwind is wrong, kKnownDifferences says so, and the truth is known by construction: a stack ends with the
// frames that both found when the case began.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/native/images.h"
#include "collect/native/own_code.h"
#include "collect/native/walk.h"
#include "native_corpus/oracle.h"

extern "C" const void* _Unwind_Find_FDE(void* pc, void* bases);  // of libgcc

namespace tprof::oracle {

Tally g_tally;
__thread bool t_quiet;

namespace {

constexpr u32 kMax = 2000;      // frames
constexpr u64 kMaxPrinted = 5;  // differences

struct Tables {
  WalkTables walk;
  u32 maps;
  u64 theirs[kMax + 1];
  bool interrupted[kMax + 1];  // of theirs
};
__thread Tables* t_tables;
__thread bool t_looking;

const char* g_case = "";

// Where the case that is being run began.
struct Outermost {
  u32 count;
  u64 at[16];
};
Outermost g_outermost;
pid_t g_outermost_of;  // thread

// Where the two may differ, or both may miss the outermost frames, and what is demanded instead.
enum class Known : u8 {
  libunwind,  // is wrong: ours must be complete
  compiler,   // what it says of a place is wrong: both must find the same code there
  library,    // what is said of a place in a library is wrong: behind it anything may be found
  none,       // ours refuses on purpose: what it gives must be right as far as it goes
};
struct KnownDifference {
  const char* name;  // of the case
  Known wrong;
  u32 most;  // stacks in one run of the case
  const char* why;
  const char* where;  // the library or function of Known::library
};
constexpr char kVectors[] = "libunwind refuses functions that save xmm registers (DW_CFA_offset of one above 16)";
constexpr char kLateOffset[] = "clang 14 mentions the space for xmm registers only after it has filled it";
constexpr char kOtherStack[] =
    "longjmp: its caller's rsp is in another register (DW_CFA_register); libunwind takes the CFA instead";
constexpr char kReplaced[] =
    "when libgcc goes to a handler it writes the registers of the handler's frame over those that it saved itself, and "
    "then moves rsp: its call frame information does not say so";
constexpr char kSwitched[] = "swapcontext moves rsp to the other stack before its return address is there";
constexpr char kForeign[] =
    "ours reads nothing outside of the thread's stack and its stack for signals, since nothing says where others end";
constexpr u32 kAny = ~0u;
constexpr KnownDifference kKnownDifferences[] = {
    {"windows_calls", Known::libunwind, kAny, kVectors},
    {"windows_calls", Known::compiler, 20, kLateOffset},
    {"no_return", Known::libunwind, kAny, kOtherStack},
    {"jumps", Known::libunwind, kAny, kOtherStack},
    {"jump_out_of_handler", Known::libunwind, kAny, kOtherStack},
    {"catches", Known::library, 500, kReplaced, "libgcc_s.so"},
    {"cleanups", Known::library, 500, kReplaced, "libgcc_s.so"},
    {"rethrows", Known::library, 800, kReplaced, "libgcc_s.so"},
    {"std_thread", Known::library, 500, kReplaced, "libgcc_s.so"},
    {"coroutine", Known::none, kAny, kForeign},
    {"coroutine", Known::library, 40, kSwitched, "swapcontext"},
};
constexpr u32 kKnownCount = sizeof kKnownDifferences / sizeof *kKnownDifferences;
u32 g_known_counts[kKnownCount];  // in this run of the case

u32 unwind(unw_context_t& context, Tables& t) {
  unw_cursor_t cursor;
  if (unw_init_local(&cursor, &context) < 0) return 0;
  u32 count = 0;
  while (count < kMax && unw_step(&cursor) > 0) {
    unw_word_t pc;
    if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || !pc) break;
    bool interrupted = unw_is_signal_frame(&cursor) > 0;
    if (is_ours(pc)) continue;
    t.interrupted[count] = interrupted;
    t.theirs[count++] = pc + interrupted;
  }
  t.theirs[count] = 0;
  return count;
}

void print_frame(const char* mark, u64 pc) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(pc - 1), &info);
  const char* file = info.dli_fname ? info.dli_fname : "?";
  const char* slash = strrchr(file, '/');
  dprintf(1, "  %s %#llx %s+%#llx %s\n", mark, static_cast<unsigned long long>(pc), slash ? slash + 1 : file,
          static_cast<unsigned long long>(pc - reinterpret_cast<u64>(info.dli_fbase)),
          info.dli_sname ? info.dli_sname : "");
}

void print_difference(const Tables& t, Walk ours, u32 theirs) {
  dprintf(1, "DIFFERENCE in %s: ours %u frames%s, libunwind %u\n", g_case, ours.count, ours.cut ? " (cut)" : "",
          theirs);
  for (u32 i = 0; i < ours.count || i < theirs; i++) {
    bool equal = i < ours.count && i < theirs && t.walk.found[i] == t.theirs[i];
    if (equal) {
      print_frame("both     ", t.theirs[i]);
      continue;
    }
    if (i < ours.count) print_frame("ours     ", t.walk.found[i]);
    if (i < theirs) print_frame("libunwind", t.theirs[i]);
  }
}

bool complete(const Tables& t, u32 count) {
  if (gettid() != g_outermost_of) return true;
  const Outermost& o = g_outermost;
  return count >= o.count && !memcmp(t.walk.found + count - o.count, o.at, o.count * sizeof(u64));
}

// Whether one of the first frames lies in a library or function.
bool passes(const Tables& t, u32 count, const char* where) {
  for (u32 i = 0; i < count; i++) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(t.theirs[i] - 1), &info)) continue;
    if (strstr(info.dli_fname, where) || (info.dli_sname && !strcmp(info.dli_sname, where))) return true;
  }
  return false;
}

// Whether ours ends where a signal interrupted an instruction of which no call frame information exists, such as a stub
// of lld. There libunwind guesses; what it takes for a return address is often none.
bool ends_without_information(const Tables& t, Walk ours, u32 common) {
  void* bases[3];
  return ours.cut && common == ours.count && common > 1 && t.interrupted[common - 1] &&
         !_Unwind_Find_FDE(reinterpret_cast<void*>(t.theirs[common - 1] - 1), bases);
}

// Whether ours found the same, or ended where the word that is taken for a return address is none of any code.
bool same_code(const Tables& t, Walk ours, u32 common, u32 theirs) {
  Dl_info info;
  if (common != ours.count) return false;
  return common == theirs || (ours.cut && !dladdr(reinterpret_cast<void*>(t.theirs[common] - 1), &info));
}

// How many frames are equal, from the innermost one.
u32 common_frames(const Tables& t, u32 ours, u32 theirs) {
  u32 n = 0;
  while (n < ours && n < theirs && t.walk.found[n] == t.theirs[n]) n++;
  return n;
}

enum class Verdict : u8 { equal, known, different };

Verdict judge(const Tables& t, Walk ours, u32 theirs) {
  u32 common = common_frames(t, ours.count, theirs);
  bool equal = common == ours.count && common == theirs, to_the_end = !ours.cut && complete(t, ours.count);
  if (equal && to_the_end) return Verdict::equal;
  if (ends_without_information(t, ours, common)) return Verdict::known;
  for (u32 i = 0; i < kKnownCount; i++) {
    const KnownDifference& known = kKnownDifferences[i];
    if (strcmp(known.name, g_case) != 0) continue;
    bool holds = false;
    switch (known.wrong) {
      case Known::libunwind: holds = to_the_end; break;
      case Known::compiler: holds = same_code(t, ours, common, theirs); break;
      case Known::library: holds = passes(t, common, known.where); break;
      case Known::none: holds = common == ours.count && (ours.cut || equal); break;
    }
    if (holds && g_known_counts[i]++ < known.most) return Verdict::known;
  }
  return Verdict::different;
}

}  // namespace

void begin() {
  // Its cache takes a return address and the same address in an interrupted function for one.
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
  make_tables();
}

void make_tables() {
  if (t_tables) return;
  void* at = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Tables* tables = static_cast<Tables*>(at);
  tables->walk.stacks.main = main_stack();
  if (gettid() != getpid()) tables->walk.stacks.own = thread_stack();
  t_tables = tables;
}

void forget_unmapped() {
  images_closed();
  unw_flush_cache(unw_local_addr_space, 0, 0);
}

__attribute__((noinline)) void look() {
  if (t_looking || !t_tables) return;
  t_looking = true;
  Tables& t = *t_tables;
  if (u32 maps = g_maps.load(); t.maps != maps) {
    memset(static_cast<void*>(t.walk.rules), 0, sizeof t.walk.rules);
    t.maps = maps;
  }
  u64 frame = reinterpret_cast<u64>(__builtin_frame_address(0));
  const ThreadStacks& stacks = t.walk.stacks;
  StackRange range = stacks.main.holds(frame)  ? stacks.main
                     : stacks.own.holds(frame) ? stacks.own
                                               : signal_stack(frame);
  Walk ours = range.high ? walk_stack(t.walk, frame, range.high) : Walk{0, true};
  unw_context_t context;
  unw_getcontext(&context);
  u32 theirs = unwind(context, t);
  Verdict verdict = judge(t, ours, theirs);
  if (verdict == Verdict::known) __atomic_fetch_add(&g_tally.known, 1, __ATOMIC_RELAXED);
  if (verdict == Verdict::different && __atomic_fetch_add(&g_tally.differences, 1, __ATOMIC_RELAXED) < kMaxPrinted)
    print_difference(t, ours, theirs);
  __atomic_fetch_add(&g_tally.checkpoints, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&g_tally.frames, ours.count, __ATOMIC_RELAXED);
  if (ours.count > g_tally.deepest) g_tally.deepest = ours.count;
  t_looking = false;
}

void look_by_signal() {
  if (!t_quiet) look();
}

void begin_case(const char* name) {
  bool quiet = t_quiet;
  t_quiet = true;
  g_case = name;
  memset(g_known_counts, 0, sizeof g_known_counts);
  g_outermost_of = 0;
  look();
  const Tables& t = *t_tables;
  u32 n = 0;
  while (n < 16 && t.theirs[n]) n++;
  g_outermost.count = n;
  memcpy(g_outermost.at, t.theirs, n * sizeof(u64));
  g_outermost_of = gettid();
  t_quiet = quiet;
}

void end_cases() {
  g_case = "exit";
  g_outermost_of = 0;
}

}  // namespace tprof::oracle
