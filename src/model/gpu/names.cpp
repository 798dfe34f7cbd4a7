#include "model/gpu/names.h"

#include <charconv>
#include <iterator>

namespace tprof {
namespace {

// Indexed by the values of CUPTI's enumerations.
constexpr const char* kCopyKinds[] = {nullptr, "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                      "AtoD",  "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr const char* kMemoryKinds[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr const char* kSyncKinds[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
constexpr const char* kOverheadKinds[] = {"Unknown",
                                          "Buffer Flush",
                                          "Instrumentation",
                                          "Resource",
                                          "Runtime Triggered Module Loading",
                                          "Lazy Function Loading",
                                          "Command Buffer Full",
                                          "Activity Buffer Request",
                                          "UVM Activity Init"};
constexpr char kGraph[] = "CUDA graph ";

template <size_t N>
std::string word(const char* const (&words)[N], u32 value, const char* otherwise) {
  return value < N && words[value] ? words[value] : otherwise;
}

template <size_t N>
u32 number(const char* const (&words)[N], std::string_view text) {
  for (u32 i = 1; i < N; i++)
    if (text == words[i]) return i;
  return 0;
}

std::string overhead_name(u32 kind) {
  if (kind == 1) return "Driver Compiler";
  return kind & 0xffff ? "Unrecognized" : word(kOverheadKinds, kind >> 16, "Unrecognized");
}

// "Memcpy HtoD (Pageable -> Device)"
u32 copy_id(std::string_view name) {
  size_t open = name.find(" ("), arrow = name.find(" -> "), close = name.rfind(')');
  if (!name.starts_with("Memcpy ") || open == name.npos || arrow == name.npos || close == name.npos) return 0;
  if (open < 7 || arrow < open + 2 || close < arrow + 4) return 0;
  u32 kind = number(kCopyKinds, name.substr(7, open - 7));
  u32 from = number(kMemoryKinds, name.substr(open + 2, arrow - open - 2));
  u32 to = number(kMemoryKinds, name.substr(arrow + 4, close - arrow - 4));
  return kind | from << 8 | to << 16;
}

}  // namespace

std::string activity_name(const RecordHead& record) {
  u32 id = record.id;
  switch (static_cast<Kind>(record.kind)) {
    case Kind::copy:
      return "Memcpy " + word(kCopyKinds, id & 0xff, "<unknown>") + " (" +
             word(kMemoryKinds, id >> 8 & 0xff, "Unrecognized") + " -> " +
             word(kMemoryKinds, id >> 16 & 0xff, "Unrecognized") + ")";
    case Kind::set: return "Memset (" + word(kMemoryKinds, id & 0xff, "Unrecognized") + ")";
    case Kind::graph: return kGraph + std::to_string(id);
    case Kind::sync: return word(kSyncKinds, id, kSyncKinds[0]);
    case Kind::gpu_event: return "cudaEvent";
    case Kind::overhead: return overhead_name(id);
    default: return "";
  }
}

u32 activity_id(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::copy: return copy_id(name);
    case Kind::set: {
      size_t open = name.find('('), close = name.rfind(')');
      return open == name.npos || close == name.npos || close < open
                 ? 0
                 : number(kMemoryKinds, name.substr(open + 1, close - open - 1));
    }
    case Kind::graph: {
      u32 id = 0;
      if (name.starts_with(kGraph)) std::from_chars(name.data() + sizeof kGraph - 1, name.data() + name.size(), id);
      return id;
    }
    case Kind::sync: return number(kSyncKinds, name);
    case Kind::overhead: return name == "Driver Compiler" ? 1 : number(kOverheadKinds, name) << 16;
    default: return 0;
  }
}

CallFamily call_family(std::string_view function) {
  // The first match counts: cudaGraphLaunch launches, cudaEventSynchronize waits.
  static constexpr struct {
    const char* word;
    CallFamily family;
  } kRules[] = {
      {"Launch", CallFamily::launch},    {"Memcpy", CallFamily::copy},  {"Memset", CallFamily::set},
      {"Synchronize", CallFamily::sync}, {"Malloc", CallFamily::alloc}, {"MemAlloc", CallFamily::alloc},
      {"HostAlloc", CallFamily::alloc},  {"Free", CallFamily::free},    {"StreamWaitEvent", CallFamily::stream},
      {"Event", CallFamily::event},      {"Graph", CallFamily::graph},  {"Stream", CallFamily::stream},
  };
  for (const auto& rule : kRules)
    if (function.find(rule.word) != function.npos) return rule.family;
  return CallFamily::other;
}

u64 bytes_of(const GpuEvent& event) {
  if (event.kind() == Kind::copy) return event.as<CopyRecord>().bytes;
  return event.kind() == Kind::set ? event.as<SetRecord>().bytes : 0;
}

}  // namespace tprof
