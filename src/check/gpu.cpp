#include "check/gpu.h"

#include <algorithm>

#include "kineto/names.h"

namespace tprof {
namespace {

i64 integer(const Value& value, i64 otherwise) { return value.is_i64() ? value.as_i64() : otherwise; }

std::string event_text(u32 event) { return "event " + std::to_string(event); }

void find_repeated(std::vector<i64>& ids, Findings& findings) {
  std::sort(ids.begin(), ids.end());
  for (size_t i = 1; i < ids.size(); i++)
    if (ids[i] == ids[i - 1]) findings.add(k_flow_reused, "id " + std::to_string(ids[i]));
}

}  // namespace

void GpuChecker::check_range(std::string_view category, i64 begin, const Where& where) {
  const Value& args = member(where.event, "args");
  const Value& external_id = member(args, kineto::kExternalId);
  bool kernel = category == kineto::kKernel;
  bool work = kernel || category == kineto::kGpuMemcpy || category == kineto::kGpuMemset || category == "memcpy" ||
              category == "memset";
  bool call = category == kineto::kCudaRuntime || category == "runtime";
  bool range = category == kineto::kCpuOp || category == "operator" || category == kineto::kUserAnnotation;
  if (range && external_id.is_i64()) range_ids_.push_back(external_id.as_i64());
  if ((range || call) && args.is_object() && has_member(args, "stream")) findings_.add(k_host_stream, where);
  if (!work && !call) return;
  // Old traces have the key in lower case.
  const Value& old_id = member(args, "external id");
  const Value& id = external_id.is_null() ? old_id : external_id;
  i64 correlation = integer(member(args, "correlation"), 0);
  (work ? work_ : calls_).push_back({correlation, integer(id, 0), begin, where.index, id.is_i64()});
  if (!work) return;
  if (!member(args, "stream").is_integer()) findings_.add(k_gpu_stream, where);
  if (!kernel) return;
  const Value &device = member(args, "device"), &pid = member(where.event, "pid"),
              &blocks = member(args, "blocks per SM");
  if (device.is_i64() && (!pid.is_i64() || pid.as_i64() != device.as_i64())) findings_.add(k_kernel_pid, where);
  if (blocks.is_number() && blocks.as_double() <= 0) findings_.add(k_no_blocks, where);
}

void GpuChecker::check_other(std::string_view phase, std::string_view name, std::string_view category,
                             const Where& where) {
  if (category == kineto::kLaunchFlow) {
    const Value& id = member(where.event, "id");
    if (id.is_i64()) (phase == "s" ? flow_starts_ : flow_ends_).push_back(id.as_i64());
  }
  if (phase != "i" || name != kineto::kMemory) return;
  const Value& args = member(where.event, "args");
  i64 type = integer(member(args, "Device Type"), 0);
  if (type != 0 && type != 1) findings_.add(k_memory_device_type, where);
  if (type == 1) last_memory_device_ = std::max(last_memory_device_, integer(member(args, "Device Id"), -1));
}

void GpuChecker::finish() {
  // Without any properties the plugin does not check it.
  if (devices_ && last_memory_device_ >= devices_)
    findings_.add(k_memory_device, "GPU " + std::to_string(last_memory_device_));
  std::sort(range_ids_.begin(), range_ids_.end());
  finish_calls();
  find_repeated(flow_starts_, findings_);
  find_repeated(flow_ends_, findings_);
}

void GpuChecker::finish_calls() {
  std::sort(calls_.begin(), calls_.end(),
            [](const Linked& a, const Linked& b) { return a.correlation < b.correlation; });
  auto known = [&](i64 id) { return std::binary_search(range_ids_.begin(), range_ids_.end(), id); };
  for (const Linked& work : work_) {
    auto call = std::lower_bound(calls_.begin(), calls_.end(), work.correlation,
                                 [](const Linked& c, i64 value) { return c.correlation < value; });
    if (call == calls_.end() || call->correlation != work.correlation || !work.correlation) {
      findings_.add(k_work_without_call, event_text(work.event));
      continue;
    }
    if (!call->has_external_id)
      findings_.add(k_call_external_id, event_text(call->event));
    else if (call->external_id && !known(call->external_id))
      findings_.add(k_unknown_external_id, event_text(call->event));
    if (work.begin < call->begin) findings_.add(k_before_launch, event_text(work.event));
  }
}

}  // namespace tprof
