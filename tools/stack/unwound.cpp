#include "unwound.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

// Not in libunwind's headers, but made for such callers (perf is one): searches a table in the other program's memory.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*,
                                                  int need, void* argument);

namespace tprof {
namespace {

constexpr u64 kPage = 4096;

// .eh_frame_hdr (Linux Standard Base): version 1, then the encodings of what follows, of which one is in use
// everywhere: a table of pairs of 4 bytes, relative to its own header.
struct FrameHeader {
  u8 version, frame_encoding, count_encoding, table_encoding;
  u32 frame, count;
};
constexpr u8 kVersion = 1, kFourBytes = 0x03, kFromHere = 0x1b, kFromHeader = 0x3b;

}  // namespace

unw_accessors_t Unwound::accessors() {
  unw_accessors_t out{};
  out.find_proc_info = find_table;
  out.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
  out.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
  out.access_mem = access_memory;
  out.access_reg = [](unw_addr_space_t space, unw_regnum_t number, unw_word_t* value, int write, void* self) {
    auto& u = *static_cast<Unwound*>(self);
    return u.access_(space, number, value, write, u.registers_);
  };
  out.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; };
  out.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
  out.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
  return out;
}

Unwound::Unwound(const remote::Memory& memory, AccessRegister access, size_t most)
    : memory_(memory), access_(access), most_(most) {
  unw_accessors_t all = accessors();
  space_ = unw_create_addr_space(&all, 0);
  unw_set_caching_policy(space_, UNW_CACHE_GLOBAL);
}

const char* Unwound::page_at(u64 number) {
  auto [page, added] = pages_.try_emplace(number);
  if (added) {
    page->second.resize(kPage);
    if (!memory_.read(number * kPage, page->second.data(), kPage)) page->second.clear();
  }
  return page->second.empty() ? nullptr : page->second.data();
}

bool Unwound::read(u64 address, void* to, size_t bytes) {
  const char* page = address % kPage + bytes > kPage ? nullptr : page_at(address / kPage);
  if (!page) return memory_.read(address, to, bytes);
  memcpy(to, page + address % kPage, bytes);
  return true;
}

int Unwound::access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* self) {
  return !write && static_cast<Unwound*>(self)->read(address, value, sizeof *value) ? 0 : -UNW_EINVAL;
}

int Unwound::find_table(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* out, int need, void* self) {
  const unw_dyn_info_t* table = static_cast<Unwound*>(self)->table_at(address);
  if (!table) return -UNW_ENOINFO;
  unw_dyn_info_t copy = *table;
  return UNW_OBJ(dwarf_search_unwind_table)(space, address, &copy, out, need, self);
}

const unw_dyn_info_t* Unwound::table_at(u64 address) {
  auto known = tables_.upper_bound(address);
  if (known != tables_.end() && address >= known->second.start_ip) return &known->second;
  unw_dyn_info_t table{};
  if (!find_file(address, table)) return nullptr;
  return &(tables_[table.end_ip] = table);
}

// The mapping that holds the address, the start of the same file before it, the program headers there.
bool Unwound::find_file(u64 address, unw_dyn_info_t& out) {
  const std::vector<remote::Mapping>& mappings = memory_.mappings();
  size_t at = 0;
  while (at < mappings.size() && (address < mappings[at].begin || address >= mappings[at].end)) at++;
  if (at == mappings.size() || mappings[at].path.empty()) return false;
  size_t first = at;
  while (first > 0 && (mappings[first].path != mappings[at].path || mappings[first].offset)) first--;
  u64 base = mappings[first].begin;
  Elf64_Ehdr header;
  if (mappings[first].path != mappings[at].path || !read(base, &header, sizeof header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  u64 bias = base, table = 0;
  bool biased = false;
  for (u32 i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr p;
    if (!read(base + header.e_phoff + i * sizeof p, &p, sizeof p)) return false;
    if (p.p_type == PT_LOAD && !biased) {  // the first one holds the file's start
      bias = base - ((p.p_vaddr - p.p_offset) & ~(kPage - 1));
      biased = true;
    }
    if (p.p_type == PT_GNU_EH_FRAME) table = p.p_vaddr;
  }
  FrameHeader frames;
  if (!table || !read(bias + table, &frames, sizeof frames) || frames.version != kVersion ||
      frames.frame_encoding != kFromHere || frames.count_encoding != kFourBytes || frames.table_encoding != kFromHeader)
    return false;
  out.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  out.start_ip = mappings[at].begin;
  out.end_ip = mappings[at].end;
  out.u.rti.segbase = bias + table;
  out.u.rti.table_data = bias + table + sizeof frames;
  out.u.rti.table_len = u64(frames.count) * 8 / sizeof(unw_word_t);
  return true;
}

void Unwound::forget_tables() {
  tables_.clear();
  unw_flush_cache(space_, 0, 0);
}

std::string Unwound::stack_of(void* registers) {
  registers_ = registers;
  pages_.clear();
  std::string addresses;
  const char* end = " lost";
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space_, this) != 0) return end;
  bool exact = true;  // the innermost frame, and one that a signal interrupted
  u64 before = 0, top_before = 0;
  for (size_t n = 0;; n++) {
    unw_word_t address = 0, top = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &address);
    unw_get_reg(&cursor, UNW_REG_SP, &top);
    if (!address) {
      end = " whole";
      break;
    }
    if (n == most_) {
      end = " cut";
      break;
    }
    if (n && address == before && top == top_before) break;  // it does not get any further
    before = address, top_before = top;
    char text[24];
    snprintf(text, sizeof text, " %llx", static_cast<unsigned long long>(address + (exact ? 1 : 0)));
    addresses += text;
    exact = unw_is_signal_frame(&cursor) > 0;
    int step = unw_step(&cursor);
    if (step == 0) end = " whole";
    if (step <= 0) break;
  }
  return end + addresses;
}

}  // namespace tprof
