// The tables of gpu_tables.h about how work gets to GPUs: launches, queues, copies.
#include "report/columns.h"
#include "report/gpu_tables.h"

namespace tprof {
namespace {

Value op_name(const Model& model, i32 op) { return op < 0 ? Value() : Value(model.name_of(model.events[size_t(op)])); }

}  // namespace

Table launches_table(const Launches& l) {
  Table out{"Launches",
            {{"name", "Launches", Unit::text},
             {"works", "Number", Unit::count},
             {"share", "Share", Unit::percent, 2},
             {"host_duration", "Time of the calls", Unit::time},
             {"wait", "of it, waiting", Unit::time, 1},
             {"device_duration", "On the GPU", Unit::time},
             {"mean_delay", "Begin after the call", Unit::time, 1},
             {"longest_delay", "Longest", Unit::time, 1}}};
  Value none;
  auto row = [&](const std::string& name, u64 n, Value host, Value wait, Value gpu, Value delay, Value longest) {
    out.rows.push_back({name, i64(n), percent_of(i64(n), i64(l.activities)), host, wait, gpu, delay, longest});
  };
  if (l.activities) {
    row("all with a known call", l.activities, l.host_ns, l.wait_ns, l.gpu_ns, l.delay_ns / i64(l.activities),
        l.longest_delay_ns);
    row("GPU activity below " + time_text(kShortWorkNs), l.short_activities, l.short_host_ns, l.short_wait_ns,
        l.short_gpu_ns, none, none);
    row("GPU activity shorter than its call", l.shorter_than_launch, none, none, none, none, none);
    row("calls above " + time_text(kSlowLaunchNs), l.slow_calls, none, none, none, none, none);
    row("started more than " + time_text(kLongDelayNs) + " later", l.long_delays, none, none, none, none, none);
  }
  if (!l.activities && !l.without_call) out.footer.push_back(kNoGpuWork);
  if (l.without_call)
    out.footer.push_back("Unknown: " + std::to_string(l.without_call) +
                         " GPU activities have no call in this trace (CUDA calls were not recorded)");
  return out;
}

Table slow_calls_table(const Model& model, const Waits& waits, const Launches& launches) {
  i64 zero = first_moment(model);
  Columns<u32> c;
  auto call = [&](u32 i) -> const CallEvent& { return model.calls[i]; };
  c.add("name", "Call", Unit::text, 0, [=, &model](auto& i) { return model.names[call(i).name]; });
  c.add("operator", "In", Unit::text, 0, [=, &model](auto& i) { return op_name(model, call(i).op); });
  c.add("at", "At", Unit::time, 0, [=](auto& i) { return call(i).begin_ns - zero; });
  c.add("duration", "Duration", Unit::time, 0, [=](auto& i) { return call(i).dur_ns; });
  c.add("wait", "of it, waiting", Unit::time, 1, [&](auto& i) { return waits.ns(i); });
  c.add("tid", "Thread", Unit::count, 1, [=, &model](auto& i) { return i64(model.threads[call(i).thread].tid); });
  return c.table("Slowest launch calls", launches.slowest_calls);
}

Table delayed_work_table(const Model& model, const Launches& launches) {
  i64 zero = first_moment(model);
  Columns<u32> c;
  auto work = [&](u32 i) -> const GpuEvent& { return model.gpu[i]; };
  c.add("name", "Work", Unit::function, 0, [=, &model](auto& i) { return model.names[work(i).name]; });
  c.add("operator", "In", Unit::text, 1, [=, &model](auto& i) { return op_name(model, work(i).op); });
  c.add("at", "At", Unit::time, 0, [=](auto& i) { return work(i).begin_ns - zero; });
  c.add("delay", "Begin after the call", Unit::time, 0,
        [=, &model](auto& i) { return work(i).begin_ns - model.calls[work(i).call].end_ns(); });
  c.add("device", "GPU", Unit::count, 2, [=](auto& i) { return i64(work(i).device); });
  c.add("stream", "Stream", Unit::count, 2, [=](auto& i) { return i64(work(i).stream); });
  return c.table("GPU work that started latest after its call", launches.most_delayed);
}

Table queues_table(const Launches& launches) {
  Columns<Queue> c;
  c.add("device", "GPU", Unit::count, 0, [](auto& r) { return i64(r.device); });
  c.add("stream", "Stream", Unit::count, 0, [](auto& r) { return i64(r.stream); });
  c.add("mean_length", "Mean length", Unit::number, 0, [](auto& r) { return r.mean; });
  c.add("longest", "Longest", Unit::count, 0, [](auto& r) { return i64(r.longest); });
  c.add("full", "Time full", Unit::time, 0, [](auto& r) { return r.full_ns; });
  c.add("blocked_calls", "Calls into it", Unit::count, 1, [](auto& r) { return i64(r.blocked_calls); });
  c.add("blocked", "and their time", Unit::time, 1, [](auto& r) { return r.blocked_ns; });
  Table out = c.table("Queues: GPU work launched and not started", launches.queues);
  if (!launches.queues.empty())
    out.footer.push_back("Full: " + std::to_string(kQueueLimit) + " activities; a launch then blocks");
  else
    out.footer.push_back(launches.without_call ? "Unknown: no call of the GPU work is in this trace" : kNoGpuWork);
  return out;
}

Table copies_table(const std::vector<Copies>& copies) {
  Columns<Copies> c;
  c.add("device", "GPU", Unit::count, 0, [](auto& r) { return i64(r.device); });
  c.add("kind", "Copy", Unit::text, 0, [](auto& r) { return copy_kind_text(r.kind); });
  c.add("host_memory", "Host memory", Unit::text, 0, [](auto& r) {
    return r.memory == HostMemory::pinned     ? Value("pinned")
           : r.memory == HostMemory::pageable ? Value("pageable")
                                              : Value();
  });
  c.add("calls", "Copies", Unit::count, 0, [](auto& r) { return i64(r.count); });
  c.add("total_size", "Size", Unit::bytes, 0, [](auto& r) { return i64(r.bytes); });
  c.add("total_duration", "Total", Unit::time, 0, [](auto& r) { return r.ns; });
  c.add("bandwidth", "GB/s", Unit::number, 0, [](auto& r) { return r.bytes ? Value(r.gbps()) : Value(); });
  c.add("slowest_bandwidth", "Slowest GB/s", Unit::number, 1,
        [](auto& r) { return r.bytes ? Value(r.slowest_gbps) : Value(); });
  c.add("fastest_bandwidth", "Fastest GB/s", Unit::number, 2,
        [](auto& r) { return r.bytes ? Value(r.fastest_gbps) : Value(); });
  c.add("max_duration", "Longest", Unit::time, 3, [](auto& r) { return r.longest_ns; });
  Table out = c.table("Copies", copies);
  if (copies.empty()) out.footer.push_back("Copies: none of a GPU in the steps of this trace");
  return out;
}

}  // namespace tprof
