#include "collect/nvtx/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "collect/nvtx/ranges.h"
#include "collect/session/collector.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH";
const char* g_library;  // our file; nullptr: nvtx_offer() was not called
void (*g_attach)();

bool same_file(const char* a, const char* b) {
  struct stat x, y;
  return !strcmp(a, b) || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

// Notes in the recording whether NVTX will find us. If the variable names another tool, prints a line where this
// process may print lines.
void note(const Options&, bool speaks) {
  const char* named = getenv(kVariable);
  bool ours = named && g_library && same_file(named, g_library);
  g_session.capability("nvtx", ours,
                       ours    ? ""
                       : named ? "NVTX_INJECTION64_PATH names another tool"
                               : "NVTX_INJECTION64_PATH was removed from the environment");
  if (!ours && named && *named && speaks)
    say("NVTX_INJECTION64_PATH is already set to %s and is left as it is; unset it to get NVTX ranges in the trace",
        named);
}

}  // namespace

const Collector kNvtxCollector{.session_starts = note};

void nvtx_offer(const char* library, void (*attach)()) {
  g_library = library;
  g_attach = attach;
  if (*library) setenv(kVariable, library, 0);
}

namespace nvtx {
namespace {

void fill(const CallbackTable& table, Group group, u32 slot, Function function) {
  Slots slots = nullptr;
  u32 count = 0;
  if (table.slots_of(group, &slots, &count) && slots && slot < count && slots[slot]) *slots[slot] = function;
}

void fill(const Extension& extension, u32 slot, Function function) {
  const ExtensionSegment& segment = extension.segments[0];
  if (slot < segment.slot_count) segment.slots[slot] = reinterpret_cast<intptr_t>(function);
}

}  // namespace

int attach_module(GetExportTable get_export_table) {
  if (!g_library || !get_export_table) return 0;
  auto* table = static_cast<const CallbackTable*>(get_export_table(kCallbackTable));
  if (!table || table->bytes < sizeof *table) return 0;
  int saved = errno;
  g_attach();  // before any slot is filled: from then on other threads' calls come straight to us
#define NVTX(group, slot, Name, function) fill(*table, group, slot, reinterpret_cast<Function>(function));
#define PAYLOAD(slot, Name, function)
#include "collect/nvtx/functions.def"
#undef NVTX
#undef PAYLOAD
  errno = saved;
  return 1;
}

// Extensions that are not served are accepted, too: a refusal would make nvtxDomainIsEnabled return false.
int attach_extension(Extension* extension) {
  if (!g_library || !extension) return 0;
  if (extension->module != kPayloadExtension || extension->segment_count == 0) return 1;
#define NVTX(group, slot, Name, function)
#define PAYLOAD(slot, Name, function) fill(*extension, slot, reinterpret_cast<Function>(function));
#include "collect/nvtx/functions.def"
#undef NVTX
#undef PAYLOAD
  return 1;
}

}  // namespace nvtx
}  // namespace tprof
