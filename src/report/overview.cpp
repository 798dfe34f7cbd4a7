#include "report/overview.h"

#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <tuple>

#include "analysis/time/loader_verdict.h"
#include "analysis/time/variability.h"
#include "report/fit.h"

namespace tprof {
namespace {

// At most two decimals, at least one: as Python prints rounded numbers.
std::string number_text(double number) {
  std::string text = printed("%.2f", number);
  if (text.back() == '0') text.pop_back();
  return text;
}

std::string percent_text(double percent) { return number_text(percent) + " %"; }

std::vector<Category> shown_categories(const Overview& overview) {
  std::vector<Category> out;
  for (u32 c = 0; c < kCategories; c++)
    if (overview.shows(static_cast<Category>(c))) out.push_back(static_cast<Category>(c));
  return out;
}

double of(const StepTimes& times, Category c) { return times.by[u32(c)]; }
double share(const StepTimes& times, Category c) { return times.us > 0 ? 100 * of(times, c) / times.us : 0; }

std::string compute_text(const GpuFigures& g) {
  return std::to_string(g.compute_major) + "." + std::to_string(g.compute_minor);
}

// Titles and values, as in the plugin's panel.
std::vector<std::pair<std::string, std::string>> gpu_lines(const GpuFigures& g) {
  std::vector<std::pair<std::string, std::string>> out{{"GPU " + std::to_string(g.device) + ":", ""}};
  if (!g.name.empty() || g.name_is_empty) out.push_back({"Name", g.name});
  if (g.memory_bytes >= 0) out.push_back({"Memory", number_text(g.memory_bytes / (1 << 30)) + " GB"});
  if (g.compute_major >= 0) out.push_back({"Compute Capability", compute_text(g)});
  if (g.utilization >= 0) out.push_back({"GPU Utilization", percent_text(100 * g.utilization)});
  if (g.sm_efficiency >= 0) out.push_back({"Est. SM Efficiency", percent_text(100 * g.sm_efficiency)});
  if (g.occupancy >= 0) out.push_back({"Est. Achieved Occupancy", percent_text(g.occupancy)});
  std::string unknown = g.tensor_cores_unknown <= 0 ? "" : percent_text(100 * g.tensor_cores_unknown) + " not known";
  if (g.tensor_cores >= 0)
    out.push_back({"Kernel Time using Tensor Cores",
                   percent_text(100 * g.tensor_cores) + (unknown.empty() ? "" : " (" + unknown + ")")});
  else if (!unknown.empty())
    out.push_back({"Kernel Time using Tensor Cores", "not known"});
  return out;
}

Json gpu_json(const GpuFigures& g) {
  auto known = [](double value, double factor) { return value < 0 ? Json() : Json(value * factor); };
  return {{"device", g.device},
          {"name", g.name.empty() ? Json() : Json(g.name)},
          {"memory_bytes", g.memory_bytes < 0 ? Json() : Json(i64(g.memory_bytes))},
          {"compute_capability", g.compute_major < 0 ? Json() : Json(compute_text(g))},
          {"utilization_percent", known(g.utilization, 100)},
          {"sm_efficiency_percent", known(g.sm_efficiency, 100)},
          {"occupancy_percent", known(g.occupancy, 1)},
          {"tensor_core_percent", known(g.tensor_cores, 100)},
          {"tensor_core_unknown_percent", 100 * g.tensor_cores_unknown}};
}

// CUPTI's cost per step, in ns; -1: not known. The other costs of recording cannot be assigned to steps.
double own_ns_per_step(const Overview& overview) {
  return overview.own.cupti_ns < 0 || overview.steps.empty()
             ? -1
             : double(overview.own.cupti_ns) / double(overview.steps.size());
}
double own_percent(const Overview& overview) {
  double ns = own_ns_per_step(overview);
  return ns < 0 || overview.average.us <= 0 ? -1 : 100 * ns / (1000 * overview.average.us);
}

// JSON key, kind, sum.
std::vector<std::tuple<const char*, StretchKind, StretchSum>> stretches_of(const Overview& overview) {
  std::vector<std::tuple<const char*, StretchKind, StretchSum>> out;
  for (u32 i = 0; i < kStretchKinds; i++)
    if (const StretchSum& sum = overview.counted.stretches[i]; sum.count)
      out.push_back({kStretchKeys[i], StretchKind(i + 1), sum});
  return out;
}

double span_percent(const Overview& overview, i64 ns) {
  return overview.span_ns > 0 ? 100 * double(ns) / double(overview.span_ns) : 0;
}

Json own_cost_json(const Overview& overview) {
  auto known = [](double value) { return value < 0 ? Json() : Json(value); };
  const OwnCost& own = overview.own;
  double ns = own_ns_per_step(overview);
  return {{"estimate", true},
          {"cupti_us_per_step", known(ns < 0 ? ns : ns / 1000)},
          {"cupti_percent", known(own_percent(overview))},
          {"process_us", known(own.process_ns < 0 ? -1 : double(own.process_ns) / 1000)},
          {"events", own.events}};
}

// "" if the program hardly waits for a loader with workers.
std::string loader_line(const Overview& overview) {
  const LoaderUse* use = most_awaited(overview.loaders);
  if (!use || use->verdict == LoaderVerdict::keeps_up) return "";
  return std::string(category_text(Category::data_loading)) + ": " + reason_of(*use) + " (tprof stats --by loader)";
}

}  // namespace

std::string spread_text(const Overview& overview) {
  Variability steps = variability(overview);
  if (!steps.known) return "";
  return "median " + time_text(steps.median_ns) + ", the longest " + time_text(steps.slowest_ns);
}

std::string steps_text(const Overview& overview) {
  size_t count = overview.steps.size(), all = overview.counted.steps;
  if (count < all) return std::to_string(count) + " of " + std::to_string(all) + " steps";
  return std::to_string(count) + (count == 1 ? " step" : " steps");
}

std::string name_of_rest(StretchKind kind, u64 count) {
  if (kind == StretchKind::between) return "Between the steps: ";
  return count == 1 ? "After the loop: " : "After loops: ";
}

std::vector<std::string> stretch_lines(const Overview& overview, double least_percent) {
  std::vector<std::string> out;
  for (const auto& [word, kind, sum] : stretches_of(overview)) {
    std::string time = time_text(sum.ns) + " (" + percent_text(span_percent(overview, sum.ns)) + " of the trace)";
    if (!is_rest(kind))
      out.push_back("Outside the steps, not in the averages: " + stretches_text(kind, sum) + ", " + time);
    else if (span_percent(overview, sum.ns) >= least_percent)
      out.push_back(name_of_rest(kind, sum.count) + time);
  }
  return out;
}

std::string own_cost_line(const Overview& overview) {
  const OwnCost& own = overview.own;
  std::string out;
  if (own.cupti_ns >= 0)
    out += "CUPTI " + time_text(i64(llrint(own_ns_per_step(overview)))) + " per step (" +
           percent_text(own_percent(overview)) + "), ";
  else if (own.cuda)
    out += "CUPTI not known, ";
  if (own.process_ns >= 0) out += "tprof " + time_text(own.process_ns) + " in the process so far, ";
  out =
      out.empty() ? "Profiler's own cost: that of " : "Profiler's own cost, an estimate: " + out + "plus the cost of ";
  return out + "recording " + std::to_string(own.events) + " events (not measured)";
}

std::string other_line(const PythonSpot& spot) {
  return std::string(category_text(Category::other)) + ": " + printed("%.0f", 100 * spot.share()) + " % of it in " +
         spot.text() + " (" + std::to_string(spot.of) + " samples; tprof stats --by python)";
}

Table steps_table(const Overview& overview) {
  Table table{"Time of each step", {{"step", "Step", Unit::text}, {"total", "Total", Unit::time}}};
  const std::vector<Category> categories = shown_categories(overview);
  for (Category c : categories) {
    auto larger = [&](Category other) { return of(overview.average, other) > of(overview.average, c); };
    auto rank = std::count_if(categories.begin(), categories.end(), larger);  // the smallest are left out first
    table.columns.push_back({category_text(c), category_text(c), Unit::time, int(rank)});
  }
  auto add = [&](const StepTimes& times) {
    std::vector<Value> row;
    row.emplace_back(times.name);
    row.emplace_back(whole_ns(times.us));
    for (Category c : categories) row.push_back(overview.knows(c) ? Value(whole_ns(of(times, c))) : Value());
    table.rows.push_back(std::move(row));
  };
  for (const StepTimes& step : overview.steps) add(step);
  if (overview.steps.size() > 1) add(overview.average);
  if (std::string spread = spread_text(overview); !spread.empty()) table.footer.push_back("Of these steps: " + spread);
  if (overview.rules == RuleSet::tprof) table.footer.push_back("Counted: " + counted_text(overview.counted));
  for (const std::string& line : stretch_lines(overview)) table.footer.push_back(line);
  table.footer.insert(table.footer.end(), overview.notes.begin(), overview.notes.end());
  return table;
}

Json steps_json(const Overview& overview, const Source& source, const TableJson& tables) {
  Json out = json_of(source);
  out.update(tables(steps_table(overview)));
  return out;
}

// "Written because of: tprof trigger; 12 steps before it are in no trace". Empty: it was the schedule's turn.
static std::string trigger_line(const TriggerFacts& trigger) {
  if (trigger.why.empty()) return "";
  std::string out = "Written because of: " + trigger.why;
  if (trigger.dropped_steps == 1) out += "; 1 step before it is in no trace";
  if (trigger.dropped_steps > 1)
    out += "; " + std::to_string(trigger.dropped_steps) + " steps before it are in no trace";
  if (trigger.refused) out += "; triggers refused so far: " + std::to_string(trigger.refused);
  return out;
}

std::string overview_text(const Overview& overview, const Source& source, const TextStyle& style) {
  std::string out = source.title() + "\n";
  if (overview.rules == RuleSet::tprof) out += "  " + counted_text(overview.counted) + "\n";
  if (std::string line = trigger_line(overview.trigger); !line.empty()) out += "  " + line + "\n";
  for (const GpuFigures& g : overview.gpus) {
    std::string line;  // "GPU 0: Tesla V100, Memory 31.74 GB, ..."
    for (const auto& [title, value] : gpu_lines(g)) {
      const char* gap = line.empty() ? "" : line.ends_with(":") ? " " : ", ";
      line += gap + (title == "Name" ? value : value.empty() ? title : title + " " + value);
    }
    out += "  " + line + "\n";
  }
  if (!overview.steps.empty()) {
    std::string spread = spread_text(overview);
    Table table{"Average step " + time_text(whole_ns(overview.average.us)) + " (" + steps_text(overview) +
                    (spread.empty() ? ")" : "; " + spread + ")"),
                {{"category", "Category", Unit::text},
                 {"us", "Time", Unit::time},
                 {"percent", "Share", Unit::percent}}};
    for (Category c : shown_categories(overview)) {
      if (overview.knows(c))
        table.rows.push_back({category_text(c), whole_ns(of(overview.average, c)), share(overview.average, c)});
      else
        table.rows.push_back({category_text(c), Value(), Value()});
      bool work = c == (overview.uses_gpu ? Category::kernel : Category::cpu);
      table.senses.push_back(work ? Sense::neutral : Sense::fault);
    }
    if (overview.rules == RuleSet::tprof) {
      double ns = own_ns_per_step(overview), percent = own_percent(overview);
      table.rows.push_back({"including profiler (est.)", ns < 0 ? Value() : Value(i64(llrint(ns))),
                            percent < 0 ? Value() : Value(percent)});
      table.senses.push_back(Sense::fault);
      if (std::string line = loader_line(overview); !line.empty()) table.footer.push_back(std::move(line));
      if (overview.other) table.footer.push_back(other_line(*overview.other));
      for (std::string& line : stretch_lines(overview)) table.footer.push_back(std::move(line));
      table.footer.push_back(own_cost_line(overview));
    }
    out += "\n" + text_of(table, style);
  } else {
    for (const std::string& line : stretch_lines(overview)) out += "  " + line + "\n";
  }
  for (const Recommendation& r : overview.recommendations) {
    out += "  * " + r.text;
    for (const auto& [key, value] : r.values) out += printed(" (%s %g)", key, rounded(value, 1));
    out += "\n";
  }
  for (const std::string& note : overview.notes) out += "  note: " + note + "\n";
  return wrapped_lines(out, style.width);
}

Json overview_json(const Overview& overview, const Source& source, size_t workers) {
  Json out = json_of(source);
  out["configuration"] = {{"Number of Worker(s)", std::to_string(workers)},
                          {"Device Type", overview.uses_gpu ? "GPU" : "CPU"}};
  out["gpu_summary"] = Json::array();
  out["gpus"] = Json::array();
  for (const GpuFigures& g : overview.gpus) {
    for (const auto& [title, value] : gpu_lines(g)) out["gpu_summary"].push_back({title, value});
    out["gpus"].push_back(gpu_json(g));
  }
  out["average_step_time_us"] = overview.steps.empty() ? Json() : Json(i64(llrint(overview.average.us)));
  Variability steps = variability(overview);
  out["median_step_time_us"] = steps.known ? Json(i64(llrint(double(steps.median_ns) / 1000))) : Json();
  out["execution_summary"] = Json::array();
  Json columns = {"Step"}, rows = Json::array();
  for (Category c : shown_categories(overview)) {
    columns.push_back(category_text(c));
    if (overview.steps.empty()) continue;
    bool known = overview.knows(c);
    out["execution_summary"].push_back({{"category", category_text(c)},
                                        {"us", known ? Json(i64(llrint(of(overview.average, c)))) : Json()},
                                        {"percent", known ? Json(rounded(share(overview.average, c), 2)) : Json()}});
  }
  for (const StepTimes& step : overview.steps) {
    Json row = {step.name};
    for (Category c : shown_categories(overview)) row.push_back(overview.knows(c) ? Json(of(step, c)) : Json());
    rows.push_back(std::move(row));
  }
  out["steps"] = {{"columns", columns}, {"rows", rows}};
  if (overview.rules == RuleSet::tprof) {
    out["counted"] = counted_text(overview.counted);
    if (std::string line = trigger_line(overview.trigger); !line.empty()) out["trigger"] = line;
    for (const auto& [word, kind, sum] : stretches_of(overview))
      out[word] = {{"count", sum.count},          {"batches", sum.batches},
                   {"calls", sum.calls},          {"left_out", sum.left_out},
                   {"us", double(sum.ns) / 1000}, {"percent", span_percent(overview, sum.ns)}};
    out["own_cost"] = own_cost_json(overview);
    if (overview.other)
      out["other"] = {{"place", overview.other->text()},
                      {"function", overview.other->function},
                      {"file", overview.other->file},
                      {"line", overview.other->line < 0 ? Json() : Json(overview.other->line)},
                      {"percent", 100 * overview.other->share()},
                      {"samples", overview.other->of}};
  }
  out["recommendations"] = Json::array();
  for (const Recommendation& r : overview.recommendations) {
    Json one = {{"id", r.id}, {"text", r.text}};
    for (const auto& [key, value] : r.values) one[key] = value;
    out["recommendations"].push_back(std::move(one));
  }
  out["notes"] = overview.notes;
  return out;
}

}  // namespace tprof
