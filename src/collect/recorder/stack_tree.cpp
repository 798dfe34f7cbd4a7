#include "collect/recorder/stack_tree.h"

#include <sys/mman.h>

#include "record/writer.h"

namespace tprof {
namespace {

struct alignas(32) Node {
  std::atomic<u32> id;  // stored last; 0: free
  u32 parent;
  u32 code;
  u64 at;
};

constexpr u32 kSlotBits = 19;
constexpr u32 kSlots = 1 << kSlotBits;
constexpr u32 kMaxNodes = kSlots / 4 * 3;
constexpr u32 kMaxProbes = 64;

std::atomic<Node*> g_nodes{nullptr};  // kSlots of them, mapped at first use
SpinLock g_lock;                      // held while a node is added
u32 g_count;

u32 slot_of(u32 parent, u32 code, u64 at) {
  u64 h = (u64(parent) << 32 | code) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 29) ^ at) * 0xbf58476d1ce4e5b9ull;
  return u32(h >> (64 - kSlotBits));
}

// The slot of the node, or the free one for it; nullptr when all slots that it may be in are taken.
Node* find(Node* nodes, u32 parent, u32 code, u64 at) {
  u32 slot = slot_of(parent, code, at);
  for (u32 i = 0; i < kMaxProbes; i++) {
    Node& node = nodes[(slot + i) % kSlots];
    if (!node.id.load(std::memory_order_acquire)) return &node;
    if (node.parent == parent && node.code == code && node.at == at) return &node;
  }
  return nullptr;
}

Node* make_table() {
  void* at =
      mmap(nullptr, kSlots * sizeof(Node), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  g_nodes.store(static_cast<Node*>(at), std::memory_order_release);
  return static_cast<Node*>(at);
}

__attribute__((noinline)) u32 add(u32 parent, u32 code, u64 at) {
  SpinGuard guard(g_lock);
  Node* nodes = g_nodes.load(std::memory_order_relaxed);
  if (!nodes && !(nodes = make_table())) return kStackLost;
  Node* node = find(nodes, parent, code, at);
  if (!node) return kStackLost;
  if (u32 id = node->id.load(std::memory_order_relaxed)) return id;  // another thread added it first
  if (g_count >= kMaxNodes || !g_writer.add_stack(g_count + 1, parent, code, at)) return kStackLost;
  node->parent = parent;
  node->code = code;
  node->at = at;
  node->id.store(++g_count, std::memory_order_release);
  return g_count;
}

}  // namespace

u32 stack_node(u32 parent, u32 code, u64 at) {
  if (__builtin_expect(parent == kStackLost, 0)) return kStackLost;
  Node* nodes = g_nodes.load(std::memory_order_acquire);
  Node* node = __builtin_expect(nodes != nullptr, 1) ? find(nodes, parent, code, at) : nullptr;
  u32 id = __builtin_expect(node != nullptr, 1) ? node->id.load(std::memory_order_relaxed) : 0;
  return __builtin_expect(id != 0, 1) ? id : add(parent, code, at);
}

void reset_stacks_in_child() {
  if (Node* nodes = g_nodes.exchange(nullptr)) munmap(nodes, kSlots * sizeof(Node));
  g_count = 0;
  g_lock.reset();
}

}  // namespace tprof
