#include "collect/nvtx/names.h"

#include <string.h>
#include <sys/mman.h>

#include "collect/recorder/recorder.h"

namespace tprof::nvtx {
namespace {

SpinLock g_lock;  // held while something is added; readers take no lock

// --- memory that is never freed
constexpr size_t kBlockBytes = 64 << 10;
char* g_free;
size_t g_free_bytes;

// Under the lock.
void* allocate(size_t bytes) {
  bytes = (bytes + 7) & ~size_t(7);
  if (bytes > g_free_bytes) {
    void* block = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
    g_free = static_cast<char*>(block);
    g_free_bytes = kBlockBytes;
  }
  void* out = g_free;
  g_free += bytes;
  g_free_bytes -= bytes;
  return out;
}

// --- tables: chains that only grow at their heads
constexpr u32 kTextChains = 4096;
std::atomic<Text*> g_texts[kTextChains];

Domain g_domains[kMaxDomains];
std::atomic<u32> g_domain_count{1};

struct Category {
  Category* next;
  u32 domain, number;
  std::atomic<const Text*> name;
};
constexpr u32 kCategoryChains = 256;
std::atomic<Category*> g_categories[kCategoryChains];

const Text* find(const Text* at, const char* text, u32 bytes, u32 hash) {
  while (at && !(at->hash == hash && at->bytes == bytes && !memcmp(at->text(), text, bytes))) at = at->next;
  return at;
}

const Text* keep_bytes(const char* text, size_t bytes) {
  u32 hash = hash_of(text, bytes);
  std::atomic<Text*>& chain = g_texts[hash % kTextChains];
  if (const Text* known = find(chain.load(std::memory_order_acquire), text, u32(bytes), hash)) return known;
  SpinGuard guard(g_lock);
  Text* first = chain.load(std::memory_order_relaxed);
  if (const Text* known = find(first, text, u32(bytes), hash)) return known;
  auto* added = static_cast<Text*>(allocate(sizeof(Text) + bytes + 1));
  if (!added) return nullptr;
  added->next = first;
  added->hash = hash;
  added->bytes = u32(bytes);
  memcpy(reinterpret_cast<char*>(added + 1), text, bytes);
  chain.store(added, std::memory_order_release);
  return added;
}

Category* find_category(u32 domain, u32 number) {
  Category* c = g_categories[(number * 31 + domain) % kCategoryChains].load(std::memory_order_acquire);
  while (c && !(c->domain == domain && c->number == number)) c = c->next;
  return c;
}

// Appends a code point, unless it has no room left.
bool put_utf8(char* out, size_t& used, u32 c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  if (used + bytes > kLongestText) return false;
  if (bytes == 1) {
    out[used++] = char(c);
    return true;
  }
  constexpr u8 kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes; i-- > 1; c >>= 6) out[used + i] = char(0x80 | (c & 0x3f));
  out[used] = char(kLead[bytes] | c);
  used += bytes;
  return true;
}

}  // namespace

const Text* keep(const char* text) { return text ? keep_bytes(text, length_of(text, kLongestText)) : nullptr; }

const Text* keep_wide(const wchar_t* text) {
  if (!text) return nullptr;
  char utf8[kLongestText];
  size_t used = 0;
  while (*text && put_utf8(utf8, used, u32(*text))) text++;
  return keep_bytes(utf8, used);
}

u32 id_of(const Text* text) {
  u64 generation = g_generation.load(std::memory_order_acquire);
  u64 known = text->known.load(std::memory_order_relaxed);
  if (__builtin_expect(known >> 32 == generation && u32(known) != 0, 1)) return u32(known);
  u32 id = intern_bytes(text->text(), text->bytes);
  text->known.store(generation << 32 | id, std::memory_order_relaxed);
  return id;
}

Domain* create_domain(const Text* name) {
  if (!name) return nullptr;
  SpinGuard guard(g_lock);
  u32 count = g_domain_count.load(std::memory_order_relaxed);
  for (u32 i = 1; i < count; i++)
    if (g_domains[i].name == name) return &g_domains[i];
  if (count == kMaxDomains) return &g_domains[kMaxDomains - 1];
  g_domains[count].name = name;
  g_domain_count.store(count + 1, std::memory_order_release);
  return &g_domains[count];
}

u32 index_of(const Domain* domain) {
  u64 at = u64(reinterpret_cast<uintptr_t>(domain) - reinterpret_cast<uintptr_t>(g_domains)) / sizeof(Domain);
  return at < g_domain_count.load(std::memory_order_acquire) ? u32(at) : 0;
}

u32 domain_id(u32 index) { return index ? id_of(g_domains[index].name) : 0; }

void set_category(u32 domain, u32 category, const Text* name) {
  if (!name) return;
  SpinGuard guard(g_lock);
  Category* c = find_category(domain, category);
  if (!c) {
    c = static_cast<Category*>(allocate(sizeof(Category)));
    if (!c) return;
    std::atomic<Category*>& chain = g_categories[(category * 31 + domain) % kCategoryChains];
    c->next = chain.load(std::memory_order_relaxed);
    c->domain = domain;
    c->number = category;
    c->name.store(name, std::memory_order_relaxed);
    chain.store(c, std::memory_order_release);
  }
  c->name.store(name, std::memory_order_release);
}

u32 category_id(u32 domain, u32 category) {
  if (category == 0) return 0;
  const Category* c = find_category(domain, category);
  return c ? id_of(c->name.load(std::memory_order_acquire)) : category | kNvtxNumber;
}

void reset_names_in_child() { g_lock.reset(); }

}  // namespace tprof::nvtx
