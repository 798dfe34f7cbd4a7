#include "report/python_tables.h"

#include <algorithm>
#include <cmath>

#include "report/columns.h"

namespace tprof {
namespace {

std::string count_text(u64 n, const char* one, const char* more) {
  return std::to_string(n) + " " + (n == 1 ? one : more);
}

Table places_table(const char* title, const Model& model, const PythonSamples& samples,
                   const std::vector<SampledPlace>& places) {
  Columns<SampledPlace> c;
  auto time = [&](u64 n) { return Value(i64(std::llround(double(n) * samples.period_ns))); };
  auto share = [&](u64 n) { return percent_of(i64(n), i64(samples.samples)); };
  c.add("function", "Function", Unit::text, 0, [](auto& r) { return r.function; });
  c.add("location", "Line", Unit::text, 0,
        [](auto& r) { return r.line < 0 ? r.file : r.file + ":" + std::to_string(r.line); });
  c.add("self_percent", "Self %", Unit::percent, 0, [=](auto& r) { return share(r.self); });
  c.add("total_percent", "Total %", Unit::percent, 0, [=](auto& r) { return share(r.total); });
  c.add("self", "Self", Unit::time, 2, [=](auto& r) { return time(r.self); });
  c.add("total", "Total", Unit::time, 3, [=](auto& r) { return time(r.total); });
  for (u32 i = kCategories; i-- > 0;) {
    if (!samples.by[i]) continue;
    const std::string text = category_text(static_cast<Category>(i));
    c.add("self_" + text, text, Unit::percent, int(4 + kCategories - i), [=](auto& r) { return share(r.by[i]); });
    c.add("total_" + text, "Total " + text, Unit::percent, kDataOnly, [=](auto& r) { return share(r.total_by[i]); });
  }
  c.add("on_cpu_percent", "On CPU", Unit::percent, 3, [](auto& r) { return percent_of(i64(r.on_cpu), i64(r.self)); });
  bool in_operators = std::any_of(places.begin(), places.end(), [](auto& r) { return r.op_samples > 0; });
  if (in_operators) {
    c.add("operator", "Operator", Unit::function, 5, [&](auto& r) { return r.op_samples ? model.names[r.op] : ""; });
    c.add("operator_percent", "% of self in it", Unit::percent, kDataOnly,
          [](auto& r) { return percent_of(i64(r.op_samples), i64(r.self)); });
  }
  bool native = std::any_of(places.begin(), places.end(), [](auto& r) { return r.native_samples > 0; });
  if (native) {
    c.add("native", "Mostly in", Unit::function, 3, [](auto& r) { return r.native; });
    c.add("native_percent", "% of self", Unit::percent, 3,
          [](auto& r) { return percent_of(i64(r.native_samples), i64(r.self)); });
  }
  c.add("samples", "Samples", Unit::count, 4, [](auto& r) { return i64(r.self); });
  c.add("total_samples", "Total samples", Unit::count, kDataOnly, [](auto& r) { return i64(r.total); });
  c.add("file", "File", Unit::text, kDataOnly, [](auto& r) { return r.file; });
  c.add("line", "Line number", Unit::count, kDataOnly, [](auto& r) { return r.line < 0 ? Value() : Value(r.line); });
  return c.table(title, places);
}

// What was not read, and why.
std::vector<std::string> losses(const Sampled& s) {
  std::vector<std::string> out;
  if (!s.why_not.empty()) out.push_back((s.looks ? "Samples are missing: " : "Not sampled: ") + s.why_not);
  if (s.failed) out.push_back(count_text(s.failed, "look", "looks") + " found no threads");
  if (s.missed) out.push_back(count_text(s.missed, "look", "looks") + " would have come too late: left out");
  if (s.unread)
    out.push_back("Not counted: " + count_text(s.unread, "time a thread's", "times a thread's") +
                  " frames could not be read consistently");
  if (s.changed)
    out.push_back(count_text(s.changed, "sample, whose", "samples, whose") +
                  " innermost frames changed while they were read (in microseconds)");
  if (s.stops)
    out.push_back("For their native frames threads were stopped " + count_text(s.stops, "time", "times") + ", for " +
                  time_text(i64(s.stopped_ns / s.stops)) + " on average and " + time_text(i64(s.longest_ns)) +
                  " at most");
  if (s.not_stopped)
    out.push_back(count_text(s.not_stopped, "sample is of a thread that was", "samples are of threads that were") +
                  " blocked in a system call that a stop might break: they were not stopped");
  if (s.no_native)
    out.push_back(count_text(s.no_native, "sample has", "samples have") + " no native frames" +
                  (s.why_no_native.empty() ? "" : ": " + s.why_no_native));
  if (s.lost) out.push_back(count_text(s.lost, "sample has", "samples have") + " no stack: there was no room for it");
  return out;
}

}  // namespace

Table python_functions_table(const Model& model, const PythonSamples& samples) {
  Table table = places_table("Python functions", model, samples, samples.functions);
  const Sampled& s = model.sampled;
  if (!s.hz && model.samples.empty()) {
    table.footer.push_back("Python: not sampled (run with --sample python)");
    return table;
  }
  std::string of = samples.thread == kNone ? "" : " of thread " + std::to_string(model.threads[samples.thread].owner);
  table.footer.push_back(count_text(samples.samples, "sample", "samples") + of + " at " + std::to_string(s.hz) +
                         " Hz in the time of the steps" +
                         (samples.outside ? ", " + std::to_string(samples.outside) + " outside of it" : ""));
  if (samples.samples) {
    std::string by;
    for (u32 i = kCategories; i-- > 0;)
      if (samples.by[i])
        by += (by.empty() ? "" : ", ") + std::string(category_text(static_cast<Category>(i))) + " " +
              printed("%.1f %%", 100.0 * double(samples.by[i]) / double(samples.samples));
    table.footer.push_back("By category of the step: " + by + "; each column is the function's own part of it");
  }
  for (std::string& line : losses(s)) table.footer.push_back(std::move(line));
  return table;
}

Table python_lines_table(const Model& model, const PythonSamples& samples) {
  return places_table("Python lines", model, samples, samples.lines);
}

Table native_functions_table(const Model& model, const PythonSamples& samples) {
  return places_table("Native functions", model, samples, samples.natives);
}

Table python_threads_table(const Model& model, const PythonSamples& samples) {
  Columns<SampledThread> c;
  c.add("thread", "Thread", Unit::text, 0, [&](auto& r) { return std::to_string(model.threads[r.thread].owner); });
  c.add("name", "Name", Unit::text, 0, [&](auto& r) { return model.threads[r.thread].name; });
  c.add("samples", "Samples", Unit::count, 0, [](auto& r) { return i64(r.samples); });
  c.add("on_cpu_percent", "On CPU", Unit::percent, 0,
        [](auto& r) { return percent_of(i64(r.on_cpu), i64(r.samples)); });
  c.add("gil_percent", "Holds the GIL", Unit::percent, 0,
        [&](auto& r) { return model.sampled.knows_gil ? percent_of(i64(r.gil), i64(r.samples)) : Value(); });
  return c.table("Sampled threads", samples.threads);
}

}  // namespace tprof
