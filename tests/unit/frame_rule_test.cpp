// Rules of call frame information: those of this test's own functions, found by walking its stack, and those of damaged
// tables.
#include "collect/native/frame_rule.h"

#include "collect/native/registers.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

namespace tprof {
namespace {

EhFrame eh_frame_around(u64 pc) {
  struct Search {
    u64 pc;
    EhFrame found;
  } search{pc, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* at) {
        auto& s = *static_cast<Search*>(at);
        const ElfW(Phdr)* header = nullptr;
        bool holds = false;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& p = info->dlpi_phdr[i];
          if (p.p_type == PT_GNU_EH_FRAME) header = &p;
          holds |= p.p_type == PT_LOAD && s.pc - info->dlpi_addr - p.p_vaddr < p.p_memsz;
        }
        if (!holds || !header) return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& p = info->dlpi_phdr[i];
          const u8* low = reinterpret_cast<const u8*>(info->dlpi_addr + p.p_vaddr);
          if (p.p_type == PT_LOAD && header->p_vaddr - p.p_vaddr < p.p_filesz)
            s.found = {reinterpret_cast<const u8*>(info->dlpi_addr + header->p_vaddr), low, low + p.p_filesz};
        }
        return 1;
      },
      &search);
  return search.found;
}

// The stack from the caller's frame on, by rules alone.
__attribute__((noinline)) std::vector<void*> walk() {
  u64 frame = reinterpret_cast<u64>(__builtin_frame_address(0)), bp, pc;
  memcpy(&bp, reinterpret_cast<void*>(frame), 8);
  memcpy(&pc, reinterpret_cast<void*>(frame + 8), 8);
  u64 sp = frame + 16;
  std::vector<void*> out;
  while (pc && out.size() < 200) {
    out.push_back(reinterpret_cast<void*>(pc));
    FrameRule rule = frame_rule(eh_frame_around(pc), pc - 1);
    u64 cfa;
    switch (rule.cfa) {
      case CfaBy::rsp: cfa = sp + i64(rule.cfa_offset); break;
      case CfaBy::rbp: cfa = bp + i64(rule.cfa_offset); break;
      case CfaBy::at_rbp: memcpy(&cfa, reinterpret_cast<void*>(bp + i64(rule.cfa_offset)), 8); break;
      default: return out;
    }
    u64 saved = rule.rbp == RbpBy::cfa   ? cfa + i64(rule.rbp_offset)
                : rule.rbp == RbpBy::rbp ? bp + i64(rule.rbp_offset)
                                         : 0;
    if (saved) memcpy(&bp, reinterpret_cast<void*>(saved), 8);
    memcpy(&pc, reinterpret_cast<void*>(cfa - 8), 8);
    sp = cfa;
  }
  return out;
}

std::vector<void*> g_ours, g_known;

__attribute__((noinline)) void both() {
  g_known.resize(200);
  g_known.resize(size_t(backtrace(g_known.data(), 200)));
  g_ours = walk();
  asm volatile("" ::: "memory");
}

// Of both() itself the two saw different calls. A sanitizer puts a function of its own around backtrace().
void expect_equal() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "under AddressSanitizer, backtrace() sees a frame more";
#endif
#endif
  ASSERT_GT(g_known.size(), 4u);
  ASSERT_EQ(g_ours.size(), g_known.size());
  for (size_t i = 1; i < g_ours.size(); i++) EXPECT_EQ(g_ours[i], g_known[i]) << i;
}

// Frames that need more than an offset from rsp.
__attribute__((noinline)) void with_room(int n) {
  char* room = static_cast<char*>(__builtin_alloca(size_t(n)));
  asm volatile("" ::"r"(room) : "memory");
  both();
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void aligned(int n) {
  alignas(64) char room[128];
  memset(room, n, sizeof room);
  asm volatile("" ::"r"(room) : "memory");
  with_room(n);
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void aligned_with_room(int n) {
  alignas(128) char room[128];
  char* more = static_cast<char*>(__builtin_alloca(size_t(n)));
  asm volatile("" ::"r"(room), "r"(more) : "memory");
  aligned(n);
  asm volatile("" ::: "memory");
}
int compare(const void*, const void*) {
  if (g_ours.empty()) aligned_with_room(100);
  return 0;
}

TEST(FrameRule, WalksWhatTheSystemsUnwinderWalks) {
  g_ours.clear();
  both();
  expect_equal();
}

TEST(FrameRule, WalksAlignedFramesRoomOfUnknownSizeAndOtherLibraries) {
  g_ours.clear();
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, compare);
  expect_equal();
}

TEST(FrameRule, SaysNothingOfAddressesOutsideOfCode) {
  EhFrame eh = eh_frame_around(reinterpret_cast<u64>(&both));
  EXPECT_EQ(frame_rule(eh, 0).cfa, CfaBy::absent);
  EXPECT_EQ(frame_rule(eh, ~u64(0)).cfa, CfaBy::absent);
  EXPECT_EQ(frame_rule({}, reinterpret_cast<u64>(&both)).cfa, CfaBy::absent);
}

u64 g_small_stack[64];
StackMemory small_stack() {
  return {{reinterpret_cast<u64>(g_small_stack), reinterpret_cast<u64>(g_small_stack + 64)}};
}
Registers all_registers() {
  Registers r;
  for (u32 i = 0; i < FrameRow::kRegisters; i++) r.set(i, reinterpret_cast<u64>(g_small_stack + 8));
  return r;
}

bool evaluates(std::vector<u8> operations, u64& out) {
  return evaluate({operations.data(), operations.data() + operations.size()}, all_registers(), small_stack(), nullptr,
                  out);
}

// The expression of the linker's stubs: rsp + 8, and 8 more from the 11th byte of a stub on.
TEST(Registers, ExpressionOfLinkerStubs) {
  using namespace dwarf;
  std::vector<u8> stub = {kOpBreg0 + kRsp, 8,     kOpBreg0 + kReturn, 0,      kOpLit0 + 15, kOpAnd,
                          kOpLit0 + 11,    kOpGe, kOpLit0 + 3,        kOpShl, kOpPlus};
  Registers r = all_registers();
  for (u64 offset = 0; offset < 16; offset++) {
    r.set(kReturn, 0x1000 + offset);
    u64 cfa;
    ASSERT_TRUE(evaluate({stub.data(), stub.data() + stub.size()}, r, small_stack(), nullptr, cfa));
    EXPECT_EQ(cfa, r.value[kRsp] + (offset < 11 ? 8 : 16)) << offset;
  }
}

TEST(Registers, ExpressionsReadTheStackAlone) {
  using namespace dwarf;
  g_small_stack[9] = 77;
  u64 out;
  EXPECT_TRUE(evaluates({kOpBreg0 + kRbp, 8, kOpDeref}, out));
  EXPECT_EQ(out, 77u);
  EXPECT_FALSE(evaluates({kOpBreg0 + kRbp, 1, kOpDeref}, out)) << "not a multiple of 8";
  EXPECT_FALSE(evaluates({kOpBreg0 + kRbp, 0x80, 0x7f, kOpDeref}, out)) << "below the stack";
  EXPECT_FALSE(evaluates({kOpLit0, kOpDeref}, out));
}

TEST(Registers, ExpressionsThatMakeNoSenseAreRefused) {
  using namespace dwarf;
  u64 out;
  EXPECT_FALSE(evaluates({}, out));
  EXPECT_FALSE(evaluates({kOpPlus}, out));
  EXPECT_FALSE(evaluates({kOpLit0, kOpOver}, out));
  EXPECT_FALSE(evaluates({kOpLit0, 0xff}, out)) << "an unknown operation";
  EXPECT_FALSE(evaluates({kOpConst8u, 1, 2}, out)) << "the end comes too early";
  EXPECT_FALSE(evaluates(std::vector<u8>(100, kOpLit0), out)) << "too much on the stack";
  EXPECT_FALSE(evaluates(std::vector<u8>(1000, kOpNop), out)) << "too long";
}

// Bytes of an image, which a sanitizer has put forbidden ones in between.
__attribute__((no_sanitize("address"))) std::vector<u8> copied(const u8* low, const u8* high) {
  std::vector<u8> copy(size_t(high - low));
  u8* to = copy.data();
  for (const volatile u8* from = low; from != high; from++) *to++ = *from;
  return copy;
}

template <class T>
void append(std::vector<u8>& to, T value) {
  const u8* bytes = reinterpret_cast<const u8*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// The tables of one function of 16 bytes, at their begin, whose frames are described by `program`.
std::vector<u8> tables(const std::vector<u8>& program, u8 data_align) {
  constexpr u8 kVersion = 1, kNoAugmentation = 0, kCodeAlign = 1;
  std::vector<u8> out(16);
  out.reserve(4096);  // the addresses in it stay right
  auto begin = reinterpret_cast<u64>(out.data());
  append(out, u32(9));
  append(out, u32(0));
  for (u8 byte : {kVersion, kNoAugmentation, kCodeAlign, data_align, u8(dwarf::kReturn)}) out.push_back(byte);
  auto fde = i32(out.size());
  append(out, u32(4 + 8 + 8 + program.size()));
  append(out, u32(out.size() - 16));
  append(out, begin);
  append(out, u64(16));
  out.insert(out.end(), program.begin(), program.end());
  auto header = i32(out.size());
  for (u8 byte : {u8(1), u8(dwarf::kUdata4), u8(dwarf::kUdata4), u8(dwarf::kDataRel | dwarf::kSdata4)})
    out.push_back(byte);
  append(out, u32(0));
  append(out, u32(1));
  append(out, -header);
  append(out, fde - header);
  out.push_back(u8(header));  // where the header is
  return out;
}

TEST(FrameRow, ADamagedFactoredOffsetWrapsAround) {
  u8 minus_32 = 0x60;
  std::vector<u8> program = {dwarf::kOffset | dwarf::kRbp, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10};
  std::vector<u8> image = tables(program, minus_32);  // (1 << 60) + 1
  FrameRow row;
  EhFrame eh{image.data() + image.back(), image.data(), image.data() + image.size()};
  ASSERT_EQ(find_row(eh, reinterpret_cast<u64>(image.data()), row), Found::row);
  EXPECT_EQ(row.saved[dwarf::kRbp], Saved::at_cfa);
  EXPECT_EQ(row.value[dwarf::kRbp], -32);
}

// The tables are copied with their distance to the code kept, by an offset to all addresses: then bytes are turned.
TEST(FrameRule, DamagedTablesAreReadWithinBounds) {
  EhFrame eh = eh_frame_around(reinterpret_cast<u64>(&both));
  size_t bytes = size_t(eh.high - eh.low);
  std::vector<u8> copy = copied(eh.low, eh.high);
  u64 moved = reinterpret_cast<u64>(copy.data()) - reinterpret_cast<u64>(eh.low);
  const u8* header = copy.data() + (eh.header - eh.low);
  EhFrame there{header, copy.data(), copy.data() + bytes};
  u64 pc = reinterpret_cast<u64>(&both) + moved + 1;
  EXPECT_NE(frame_rule(there, pc).cfa, CfaBy::absent) << "the copy is as good";
  srand(11);
  size_t first = size_t(header - copy.data());
  for (int round = 0; round < 20000; round++) {
    size_t at = first + size_t(rand()) % (bytes - first);
    if (round % 2) at = first + size_t(rand()) % 12;
    u8 was = copy[at];
    copy[at] = u8(rand());
    u64 place = pc + u64(rand()) % 4096;
    frame_rule(there, place);
    FrameRow row;
    Registers caller;
    if (find_row(there, place, row) == Found::row) apply_row(there, row, all_registers(), small_stack(), caller);
    copy[at] = was;
  }
  for (size_t cut = 0; cut < 64; cut++) frame_rule({header, copy.data(), header + cut}, pc);
}

}  // namespace
}  // namespace tprof
