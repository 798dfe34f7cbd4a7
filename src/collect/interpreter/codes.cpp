#include "collect/interpreter/codes.h"

#include <string.h>
#include <sys/mman.h>

#include "collect/interpreter/raw_text.h"
#include "collect/recorder/recorder.h"

namespace tprof {

constinit CodeLayout g_code_layout;
std::atomic<u64> g_codes_ended{0};

namespace {

// --- Known by address

struct KnownCode {
  std::atomic<const void*> code;  // nullptr: never used
  std::atomic<u32> id;            // 0: that object was freed
};

// --- Known by content, so that equal ones share an id. Records stay mapped while the recording is open.

constexpr u32 kSlotBits = 16;
constexpr u32 kSlots = 1 << kSlotBits;
constexpr u32 kMaxCodes = kSlots / 4 * 3;
constexpr u32 kMaxProbes = 64;
constexpr u32 kLongestTable = 128 << 10;  // code beyond it has no line; a chunk holds 512 KiB

struct Tables {
  KnownCode by_address[kSlots];
  const CodeRecord* by_content[kSlots];
};
std::atomic<Tables*> g_tables{nullptr};
SpinLock g_lock;  // held while a code object is added
u32 g_count;

u32 slot_of(const void* code) {
  return u32(reinterpret_cast<uintptr_t>(code) * 0x9e3779b97f4a7c15ull >> (64 - kSlotBits));
}

// The entry of the address; nullptr if it is not known. `free`: where it can be added, nullptr if nowhere.
KnownCode* find(Tables* tables, const void* code, KnownCode*& free) {
  free = nullptr;
  for (u32 i = 0; i < kMaxProbes; i++) {
    KnownCode& known = tables->by_address[(slot_of(code) + i) % kSlots];
    const void* key = known.code.load(std::memory_order_acquire);
    if (key == code) return &known;
    if (!free && (!key || !known.id.load(std::memory_order_relaxed))) free = &known;
    if (!key) return nullptr;
  }
  return nullptr;
}

template <class T>
T load(const void* object, i32 offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

u32 intern_text(const void* string) {
  char buffer[4096];
  const char* text;
  PySize bytes = raw_text(string, buffer, sizeof buffer, text);
  return bytes < 0 ? 0 : intern_bytes(text, size_t(bytes));
}

bool same(const CodeRecord& a, const CodeRecord& b, const char* table) {
  return a.name == b.name && a.file == b.file && a.first_line == b.first_line && a.table_bytes == b.table_bytes &&
         !memcmp(&a + 1, table, b.table_bytes);
}

// The id of an equal code object, or a new one. g_lock held.
u32 id_of_content(Tables* tables, const CodeRecord& code, const char* table) {
  u32 hash = hash_of(table, code.table_bytes) ^ code.name * 0x9e3779b9u ^ code.file * 0x85ebca6bu;
  hash ^= u32(code.first_line);
  for (u32 i = 0; i < kMaxProbes; i++) {
    const CodeRecord*& known = tables->by_content[(hash + i) % kSlots];
    if (known && same(*known, code, table)) return known->head.id;
    if (known) continue;
    const CodeRecord* added = g_count < kMaxCodes ? g_writer.add_code(g_count + 1, code, table) : nullptr;
    if (!added) return 0;
    known = added;
    return ++g_count;
  }
  return 0;
}

Tables* make_tables() {
  void* at = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  g_tables.store(static_cast<Tables*>(at), std::memory_order_release);
  return static_cast<Tables*>(at);
}

__attribute__((noinline)) u32 add(const void* code) {
  constexpr i32 kBytesLength = 16, kBytesData = 32;  // in a bytes object, proven by frame_layout.cpp
  const CodeLayout& layout = g_code_layout;
  CodeRecord record{};
  record.name = intern_text(load<const void*>(code, layout.name));
  record.file = intern_text(load<const void*>(code, layout.file));
  record.first_line = load<i32>(code, layout.first_line);
  const char* table = load<const char*>(code, layout.table);
  u64 bytes = load<u64>(table, kBytesLength);
  record.table_bytes = bytes < kLongestTable ? u32(bytes) : kLongestTable;
  record.python = layout.python;
  SpinGuard guard(g_lock);
  Tables* tables = g_tables.load(std::memory_order_relaxed);
  if (!tables && !(tables = make_tables())) return kNoCode;
  KnownCode* free;
  KnownCode* known = find(tables, code, free);
  if (known)
    if (u32 id = known->id.load(std::memory_order_relaxed)) return id;  // another thread added it first
  if (!known && !(known = free)) return kNoCode;
  u32 id = id_of_content(tables, record, table + kBytesData);
  if (!id) id = kNoCode;  // stored, so that it is not tried again
  known->code.store(code, std::memory_order_release);
  known->id.store(id, std::memory_order_release);
  return id;
}

// --- the end of code objects

using Deallocator = void (*)(void*);
constexpr i32 kTypeDeallocator = 48;  // PyTypeObject::tp_dealloc
Deallocator g_deallocator;
std::atomic<u64> g_ends{0};

void code_ends(void* code) {
  g_ends.fetch_add(1, std::memory_order_relaxed);
  KnownCode* free;
  Tables* tables = g_tables.load(std::memory_order_acquire);
  KnownCode* known = tables ? find(tables, code, free) : nullptr;
  if (known && known->id.exchange(0)) g_codes_ended.fetch_add(1);
  g_deallocator(code);
}

}  // namespace

u32 code_id(const void* code) {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  KnownCode* free;
  KnownCode* known = __builtin_expect(tables != nullptr, 1) ? find(tables, code, free) : nullptr;
  u32 id = __builtin_expect(known != nullptr, 1) ? known->id.load(std::memory_order_acquire) : 0;
  return __builtin_expect(id != 0, 1) ? id : add(code);
}

bool watch_code_ends() {
  if (g_deallocator) return true;
  auto* type = static_cast<char*>(const_cast<void*>(g_code_layout.type));
  auto* slot = reinterpret_cast<Deallocator*>(type + kTypeDeallocator);
  if (!*slot) return false;
  g_deallocator = *slot;
  *slot = code_ends;
  return true;
}

u64 code_ends_seen() { return g_ends.load(std::memory_order_relaxed); }

void reset_codes_in_child() {
  if (Tables* tables = g_tables.exchange(nullptr)) munmap(tables, sizeof(Tables));
  g_count = 0;
  g_lock.reset();
}

}  // namespace tprof
