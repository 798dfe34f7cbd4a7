#include "collect/torch/groups.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/recorder/recorder.h"
#include "collect/torch/attach.h"

namespace tprof {

constinit std::atomic<bool> g_groups_sought{false};

namespace {

constexpr u32 kMaxGroups = 64;     // that help to find the layout; any number is recorded
constexpr u8 kMaxTries = 16;       // for each tag of an IValue
constexpr int kObjectBytes = 192;  // more than a c10::ivalue::Object has before and with its slots

std::atomic<u64> g_addresses[kMaxGroups];
std::atomic<u32> g_address_count{0};
std::atomic<bool> g_seeking{false};
u8 g_tries[kValueTags];

bool is_group(u64 address) {
  for (u32 i = 0; i < g_address_count.load(std::memory_order_acquire) && i < kMaxGroups; i++)
    if (g_addresses[i].load(std::memory_order_relaxed) == address) return true;
  return false;
}

// Memory whose layout is only presumed. Not by base/guard.h, which takes SIGSEGV over: other threads are at work here.
bool read_memory(u64 address, void* out, size_t bytes) {
  iovec local{out, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == ssize_t(bytes);
}

// The offset of the slots {begin, end, ...} in the object; -1: it is no process group.
int slots_in(const char* object) {
  u64 words[kObjectBytes / 8], slot;
  if (reinterpret_cast<u64>(object) < 4096 || reinterpret_cast<u64>(object) % 8) return -1;
  if (!read_memory(reinterpret_cast<u64>(object), words, sizeof words)) return -1;
  for (int i = 2; i + 1 < int(kObjectBytes / 8); i++)
    if (words[i] >= 4096 && words[i] % 8 == 0 && words[i + 1] == words[i] + 16 &&
        read_memory(words[i], &slot, sizeof slot) && is_group(slot))
      return 8 * i;
  return -1;
}

}  // namespace

bool group_seek(u32 tag, const char* object) {
  if (tag >= kValueTags || g_tries[tag] >= kMaxTries || g_seeking.exchange(true)) return false;
  g_tries[tag]++;
  int slots = slots_in(object);
  if (slots >= 0) {
    g_torch.values.slots = slots;
    std::atomic_thread_fence(std::memory_order_release);
    g_torch.values.kind[tag] = u8(ValueKind::object);
    g_groups_sought.store(false);
  }
  g_seeking.store(false);
  return slots >= 0;
}

void group_learn(const ProcessGroup& group) {
  if (!group.address) return;
  if (!is_group(group.address)) {
    u32 i = g_address_count.load();
    if (i < kMaxGroups) {
      g_addresses[i].store(group.address);
      g_address_count.store(i + 1, std::memory_order_release);
    }
    if (g_torch.values.slots < 0) g_groups_sought.store(true);
  }
  if (!g_writer.is_open()) return;
  auto id = [](const char* text) { return *text ? intern_bytes(text, length_of(text, kLongestName)) : 0; };
  GroupRecord record{};
  record.address = group.address;
  record.ticks = now_ticks();
  record.sequence = group.sequence;
  record.name = id(group.name);
  record.description = id(group.description);
  record.ranks = id(group.ranks);
  g_writer.add_group(group.size, record);
}

}  // namespace tprof
