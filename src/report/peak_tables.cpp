#include "report/peak_tables.h"

#include "analysis/tables/operators.h"
#include "report/columns.h"
#include "report/stack_text.h"

namespace tprof {
namespace {

struct OwnerRow {
  std::string device;
  const Owner* owner;
  u64 of_bytes;
};

std::string device_of(const MemoryPeak& peak) { return device_text({peak.device_type, peak.device_index}); }

Table owners_table(const Model& model, const char* title, const std::vector<OwnerRow>& rows, u32 stack_depth) {
  Columns<OwnerRow> c;
  c.add("device", "Device", Unit::text, 0, [](auto& r) { return r.device; });
  c.add("name", "Operator", Unit::text, 0,
        [&](auto& r) { return r.owner->name == kNone ? Value("(no operator)") : Value(model.names[r.owner->name]); });
  c.add("size", "Size", Unit::bytes, 0, [](auto& r) { return i64(r.owner->bytes); });
  c.add("share", "Share", Unit::percent, 1, [](auto& r) { return percent_of(i64(r.owner->bytes), i64(r.of_bytes)); });
  c.add("blocks", "Blocks", Unit::count, 2, [](auto& r) { return i64(r.owner->blocks); });
  bool stacks = false;
  for (const OwnerRow& row : rows) stacks |= row.owner->stack != 0;
  if (stacks)
    c.add("call_stack", "Source Location", Unit::lines, 0,
          [&, stack_depth](auto& r) { return stack_text(model, frames_of(model, r.owner->stack, stack_depth)); });
  Table out = c.table(title, rows);
  if (!rows.empty() && !stacks) out.footer.push_back("Call stacks: not recorded (run with --with-stack)");
  return out;
}

std::string growth_text(const MemoryPeak& peak) {
  if (!peak.growth_known) return "not known (needs " + std::to_string(kLeakSteps) + " whole steps)";
  if (!peak.grows) return "none, memory does not grow in every step";
  return "likely, " + bytes_text(peak.growth_bytes) + " more with every step";
}

}  // namespace

Table peak_table(const Model& model, const std::vector<MemoryPeak>& peaks, u32 stack_depth) {
  std::vector<OwnerRow> rows;
  for (const MemoryPeak& peak : peaks)
    for (const Owner& owner : peak.owners) rows.push_back({device_of(peak), &owner, peak.peak_bytes});
  Table out = owners_table(model, "Memory alive at the peak", rows, stack_depth);
  if (peaks.empty()) out.footer.push_back("Memory: not recorded (run with --profile-memory)");
  for (const MemoryPeak& peak : peaks) {
    std::string at = device_of(peak) + ": ";
    out.footer.push_back(at + "peak " + bytes_text(i64(peak.peak_bytes)) + ", " +
                         time_text(peak.peak_ns - model.begin_ns) + " after the start" +
                         (peak.totals_known ? "" : ", of what was allocated since"));
    if (!peak.addresses_known) out.footer.push_back(at + "owners not known (the trace states no addresses)");
    if (peak.unseen_bytes && peak.addresses_known)
      out.footer.push_back(at + bytes_text(i64(peak.unseen_bytes)) +
                           " of it is older than the trace: owners not known");
    if (peak.peak_reserved_bytes)
      out.footer.push_back(at + bytes_text(i64(peak.peak_reserved_bytes)) + " reserved at most; up to " +
                           bytes_text(i64(peak.unused_bytes)) + " of it unused, " +
                           time_text(peak.unused_ns - model.begin_ns) + " after the start");
    out.footer.push_back(at + "leak: " + growth_text(peak));
  }
  return out;
}

Table leaks_table(const Model& model, const std::vector<MemoryPeak>& peaks, u32 stack_depth) {
  std::vector<OwnerRow> rows;
  for (const MemoryPeak& peak : peaks) {
    u64 all = 0;
    for (const Owner& owner : peak.kept) all += owner.bytes;
    for (const Owner& owner : peak.kept) rows.push_back({device_of(peak), &owner, all});
  }
  return owners_table(model, "Allocated in the steps and still alive at the end of the last", rows, stack_depth);
}

}  // namespace tprof
