#include "collect/native/images.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/loaded.h"
#include "collect/recorder/recorder.h"

namespace tprof {

constinit std::atomic<u32> g_maps{0};

namespace {

constexpr u32 kMaxImages = 4096;

struct Image {
  u64 key;    // identifies the object and its address: see key_of
  bool seen;  // in this scan
};

// What a walk found that is not recorded yet. It is recorded after the walk, since that takes as long as the file
// system takes, and walks hold a lock of the loader's.
struct Found {
  ImageRecord record;
  u32 maps;
  u32 name;  // where it begins in g_found_names
};
constexpr u32 kMaxFound = 128;
constexpr u32 kNamesBytes = 16 << 10;

// Guarded by g_scanning, which nobody waits for, since the program may call us under the loader's lock: a thread that
// finds it taken leaves a mark, and the scanning thread scans once more.
std::atomic<bool> g_scanning{false}, g_wanted{false};
Image g_images[kMaxImages];
u32 g_image_count;
Found g_found[kMaxFound];
u32 g_found_count;
char g_found_names[kNamesBytes];
u32 g_found_used;
std::atomic<u64> g_adds{0}, g_subs{0};  // the loader's counts of loaded and unloaded objects at the last scan

struct Extent {
  u64 low = ~u64(0), high = 0;
};

Extent extent_of(const dl_phdr_info* info) {
  Extent e;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    u64 at = info->dlpi_addr + segment.p_vaddr;
    if (at < e.low) e.low = at;
    if (at + segment.p_memsz > e.high) e.high = at + segment.p_memsz;
  }
  return e;
}

void read_build_id(const dl_phdr_info* info, ImageRecord& out) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* end = at + segment.p_memsz;
    while (end - at >= i64(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof note);
      u64 name = (u64(note.n_namesz) + 3) & ~u64(3), text = (u64(note.n_descsz) + 3) & ~u64(3);
      if (u64(end - at) - sizeof note < name + text) break;
      at += sizeof note;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4) &&
          note.n_descsz <= sizeof out.build_id) {
        out.build_id_bytes = note.n_descsz;
        memcpy(out.build_id, at + name, note.n_descsz);
        return;
      }
      at += name + text;
    }
  }
}

// The absolute path of the file, as far as it is known.
void path_of(const char* name, char (&path)[PATH_MAX]) {
  path[0] = 0;
  if (!*name) {  // the program itself
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
  } else if (*name != '/' && strchr(name, '/') && getcwd(path, sizeof path)) {
    size_t n = strlen(path);
    snprintf(path + n, sizeof path - n, "/%s", name);
  } else {
    snprintf(path, sizeof path, "%s", name);
  }
}

const char* name_of(const dl_phdr_info* info) { return info->dlpi_name ? info->dlpi_name : ""; }

// False: there is no room for it.
bool note(const dl_phdr_info* info, const Extent& extent) {
  size_t bytes = strnlen(name_of(info), PATH_MAX - 1) + 1;
  if (g_found_count == kMaxFound || bytes > kNamesBytes - g_found_used) return false;
  Found& found = g_found[g_found_count++];
  found = {{}, g_maps.load(std::memory_order_relaxed), g_found_used};
  found.record.begin = extent.low;
  found.record.end = extent.high;
  found.record.bias = info->dlpi_addr;
  found.record.ticks = now_ticks();
  read_build_id(info, found.record);
  memcpy(g_found_names + g_found_used, name_of(info), bytes - 1);
  g_found_names[g_found_used + bytes - 1] = 0;
  g_found_used += u32(bytes);
  return true;
}

void record_found() {
  for (u32 i = 0; i < g_found_count; i++) {
    char path[PATH_MAX];
    path_of(g_found_names + g_found[i].name, path);
    g_found[i].record.path = intern_bytes(path, strlen(path));
    g_writer.add_image(g_found[i].maps, g_found[i].record);
  }
  g_found_count = g_found_used = 0;
}

u64 key_of(const dl_phdr_info* info, const Extent& extent) {
  u64 name = hash_of(name_of(info), strlen(name_of(info)));
  return (extent.low ^ extent.high << 20 ^ name << 32) | 1;
}

struct Scan {
  bool records;  // false: nothing can be recorded yet, so only what was unloaded is noted, and the next scan sees all
  bool first = true, full = false;
  u32 next = 0;  // index where the next object is expected: the loader lists them in the same order each time
};

int see(dl_phdr_info* info, size_t, void* arg) {
  auto& scan = *static_cast<Scan*>(arg);
  if (scan.first) {
    if (info->dlpi_subs != g_subs.load(std::memory_order_relaxed)) g_maps.fetch_add(1, std::memory_order_release);
    g_adds.store(scan.records ? info->dlpi_adds : 0, std::memory_order_relaxed);
    g_subs.store(info->dlpi_subs, std::memory_order_relaxed);
  }
  scan.first = false;
  if (!scan.records) return 1;
  Extent extent = extent_of(info);
  if (!extent.high) return 0;
  u64 key = key_of(info, extent);
  u32 at = scan.next;
  if (at >= g_image_count || g_images[at].key != key)
    for (at = 0; at < g_image_count && g_images[at].key != key; at++) {
    }
  if (at == kMaxImages) return 0;
  if (at == g_image_count) {
    if (!note(info, extent)) return scan.full = true;
    g_images[g_image_count++].key = key;
  }
  g_images[at].seen = true;
  scan.next = at + 1;
  return 0;
}

void scan() {
  for (bool again = true; again;) {
    for (u32 i = 0; i < g_image_count; i++) g_images[i].seen = false;
    Scan scan{g_writer.is_open()};
    walk_loaded(see, &scan);
    record_found();
    again = scan.full;
  }
  u32 kept = 0;
  for (u32 i = 0; i < g_image_count; i++)
    if (g_images[i].seen) g_images[kept++] = g_images[i];
  g_image_count = kept;
}

void update() {
  int saved = errno;
  g_wanted.store(true);
  while (g_wanted.load() && !g_scanning.exchange(true)) {
    g_wanted.store(false);
    scan();
    g_scanning.store(false);
  }
  errno = saved;
}

struct Search {
  u64 pc;
  EhFrame found;
  bool first = true, changed = false;
};

int look(dl_phdr_info* info, size_t, void* arg) {
  auto& search = *static_cast<Search*>(arg);
  if (search.first)
    search.changed = info->dlpi_adds != g_adds.load(std::memory_order_relaxed) ||
                     info->dlpi_subs != g_subs.load(std::memory_order_relaxed);
  search.first = false;
  const ElfW(Phdr)* header = nullptr;
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) header = &segment;
    if (segment.p_type == PT_LOAD && search.pc - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz) holds = true;
  }
  if (!holds) return 0;
  for (int i = 0; header && i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_R) || header->p_vaddr - segment.p_vaddr >= segment.p_filesz)
      continue;
    const u8* low = reinterpret_cast<const u8*>(info->dlpi_addr + segment.p_vaddr);
    search.found = {reinterpret_cast<const u8*>(info->dlpi_addr + header->p_vaddr), low, low + segment.p_filesz};
  }
  return 1;
}

}  // namespace

EhFrame eh_frame_of(u64 pc) {
  Search search{pc, {}};
  walk_loaded(look, &search);
  if (search.changed) update();
  return search.found;
}

void images_closed() { update(); }

void reset_images_in_child() {
  g_image_count = g_found_count = g_found_used = 0;
  g_adds.store(0);
  g_scanning.store(false);
  g_wanted.store(false);
}

}  // namespace tprof
