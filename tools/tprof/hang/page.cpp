#include "hang/page.h"

#include <algorithm>

#include "base/printable.h"
#include "report/fit.h"
#include "stack/text.h"

namespace tprof::hang {
namespace {

constexpr size_t kShownRanks = 12, kShownStacks = 3, kShownProcesses = 2, kShownNotes = 5;

const char* state_word(const Rank& rank) {
  switch (rank.process.state) {
    case State::alive: {
      for (const Thread& t : rank.process.threads)
        if (t.main) return t.runs ? "runs" : t.wait == Wait::sleep ? "sleeps" : "waits";
      return "alive";
    }
    case State::stopped: return "stopped";
    case State::ended: return "ended";
    case State::killed: return "killed";
    case State::absent: return "absent";
    case State::elsewhere: return "elsewhere";
  }
  return "";
}

// The last collective of a rank that is completed, or the last one that it has begun; of a group if it is known which
// one matters.
const RecentCollective* last_call(const Rank& rank, bool done, const std::string& of) {
  const RecentCollective* out = nullptr;
  for (const RecentGroup& group : rank.now.groups)
    for (const RecentCollective& call : group.calls)
      if ((of.empty() || group.name == of) && (!done || call.done == 1) && (!out || call.age_ns <= out->age_ns))
        out = &call;
  return out;
}

template <class T>
Value if_known(bool known, T value) {
  Value out;
  if (known) out = std::move(value);
  return out;
}
Value text_or_none(const RecentCollective* call) { return if_known(call, call ? call_text(*call) : ""); }

Table table_of(const Gathered& found) {
  bool hosts = false, calls = false, recorded = false;
  for (const Rank& rank : found.job.ranks) {
    hosts |= rank.host != found.job.ranks[0].host && !rank.host.empty();
    calls |= !rank.now.groups.empty();
    recorded |= rank.recorded;
  }
  Table t{"", {{"rank", "Rank"}, {"process", "Process"}, {"state", "State", Unit::text, 1}}};
  if (hosts) t.columns.push_back({"host", "Host", Unit::text, 5});
  if (recorded) t.columns.push_back({"step", "Step", Unit::count, 4});
  if (calls) {
    t.columns.push_back({"completed", "Last completed", Unit::text, 3});
    t.columns.push_back({"begun", "Last begun", Unit::text, 2});
    t.columns.push_back({"since", "Since", Unit::time, 2});
  }
  if (recorded) t.columns.push_back({"event", "Last event", Unit::time, 6});
  std::vector<u32> order = found.finding.culprits;  // those that matter first
  for (u32 i = 0; i < found.job.ranks.size(); i++)
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  for (u32 i : order) {
    const Rank& rank = found.job.ranks[i];
    std::vector<Value> row;
    row.push_back(if_known(rank.number >= 0, i64(rank.number)));
    row.push_back(if_known(rank.process.pid, i64(rank.process.pid)));
    row.emplace_back(std::string(state_word(rank)));  // of push_back, gcc 12 warns that it were not initialized
    if (hosts) row.push_back(rank.host);
    if (recorded) row.push_back(if_known(rank.now.step >= 0, rank.now.step));
    if (calls) {
      const RecentCollective* begun = last_call(rank, false, found.finding.group);
      row.push_back(text_or_none(last_call(rank, true, found.finding.group)));
      row.push_back(text_or_none(begun));
      row.push_back(if_known(begun, begun ? begun->age_ns : 0));
    }
    if (recorded) row.push_back(if_known(rank.now.latest_ticks, rank.now.latest_age_ns));
    t.rows.push_back(std::move(row));
  }
  limit_rows(t, kShownRanks);
  return t;
}

// The threads whose stacks say why: of the finding's process, those that wait for locks, or else the one that it names
// or the main thread.
std::vector<const ThreadStack*> shown_threads(const ProgramStacks& stacks, const Finding& finding) {
  std::vector<const ThreadStack*> out;
  auto add = [&](auto test) {
    for (const ThreadStack& t : stacks.threads)
      if (test(t) && out.size() < kShownStacks) out.push_back(&t);
  };
  if (finding.verdict == Verdict::deadlock) add([](const ThreadStack& t) { return t.wait == Wait::lock; });
  if (out.empty() && finding.tid && !finding.worker) add([&](const ThreadStack& t) { return t.tid == finding.tid; });
  if (out.empty()) add([](const ThreadStack& t) { return t.main; });
  return out;
}

// The processes whose stacks are shown: the culprit or its worker, or else who is in the collective that differs.
std::vector<int> shown_processes(const Gathered& found) {
  if (means(found.finding.verdict) != Means::stuck && found.finding.culprits.empty()) return {};
  const std::vector<u32>& ranks = found.finding.culprits.empty() ? found.finding.waiting : found.finding.culprits;
  std::vector<int> out;
  if (found.finding.worker)
    out = {found.finding.worker};
  else
    for (u32 rank : ranks) out.push_back(found.job.ranks[rank].process.pid);
  std::erase_if(out, [&](int pid) { return !found.stacks.contains(pid); });  // it has ended, or cannot be read
  if (out.size() > kShownProcesses) out.resize(kShownProcesses);
  return out;
}

}  // namespace

std::string page_of(const Gathered& found, size_t depth, const TextStyle& style) {
  std::string out = wrapped(printable(found.finding.sentence), size_t(std::max(style.width, 0)), 0) + "\n\n";
  out += text_of(table_of(found), style);
  for (size_t i = 0; i < found.notes.size() && i < kShownNotes; i++)
    out += wrapped_lines("  " + printable(found.notes[i]), style.width) + "\n";
  if (found.notes.size() > kShownNotes)
    out += "  and " + std::to_string(found.notes.size() - kShownNotes) + " more; --json has all\n";
  for (int pid : shown_processes(found)) {
    const ProgramStacks& stacks = found.stacks.at(pid);
    out += "\n" +
           cut("Process " + std::to_string(pid) + ": " + printable(stacks.command),
               size_t(style.width > 0 ? style.width : 500), style.utf8, Unit::text) +
           "\n";
    for (const ThreadStack* t : shown_threads(stacks, found.finding)) out += text_of(*t, depth, style);
  }
  return out;
}

Json json_of(const Gathered& found) {
  auto numbers = [&](const std::vector<u32>& ranks) {
    Json out = Json::array();
    for (u32 rank : ranks) {
      const Rank& r = found.job.ranks[rank];
      out.push_back(r.number < 0 ? Json() : Json(r.number));
    }
    return out;
  };
  // Of those that are no ranks, what names them.
  auto processes = [&](const std::vector<u32>& ranks) {
    Json out = Json::array();
    for (u32 rank : ranks) {
      int pid = found.job.ranks[rank].process.pid;
      out.push_back(pid ? Json(pid) : Json());
    }
    return out;
  };
  auto call = [](const RecentCollective* c) {
    if (!c) return Json();
    Json out = {{"kind", c->kind}, {"number", c->number}, {"began_us_ago", double(c->age_ns) / 1e3}};
    if (c->number < 0) out["number"] = nullptr;
    out["completed"] = c->done < 0 ? Json() : Json(c->done == 1);
    if (c->elements >= 0) out["elements"] = c->elements;
    if (!c->dtype.empty()) out["dtype"] = c->dtype;
    return out;
  };
  const Finding& f = found.finding;
  const char* words[] = {"stuck", "slow", "unknown"};
  Json out = {{"schema", 1},
              {"verdict", word_of(f.verdict)},
              {"means", words[u8(means(f.verdict))]},
              {"sentence", f.sentence},
              {"culprits", numbers(f.culprits)},
              {"culprit_processes", processes(f.culprits)},
              {"waiting", numbers(f.waiting)}};
  out["notes"] = found.notes;
  out["ranks"] = Json::array();
  for (const Rank& r : found.job.ranks) {
    Json one;
    one["rank"] = r.number < 0 ? Json() : Json(r.number);
    one["host"] = r.host;
    one["process"] = r.process.pid ? Json(r.process.pid) : Json();
    one["state"] = state_word(r);
    one["recorded_now"] = r.now.records;
    one["step"] = r.now.step < 0 ? Json() : Json(r.now.step);
    one["last_event_us_ago"] = r.now.latest_ticks ? Json(double(r.now.latest_age_ns) / 1e3) : Json();
    one["groups"] = Json::array();
    for (const RecentGroup& group : r.now.groups) {
      const RecentCollective *done = nullptr, *begun = group.calls.empty() ? nullptr : &group.calls.back();
      for (const RecentCollective& c : group.calls)
        if (c.done == 1) done = &c;
      one["groups"].push_back(
          {{"name", group.name}, {"ranks", group.ranks}, {"last_completed", call(done)}, {"last_begun", call(begun)}});
    }
    if (!r.process.why_no_stacks.empty()) one["no_stacks"] = r.process.why_no_stacks;
    out["ranks"].push_back(std::move(one));
  }
  out["stacks"] = Json::array();
  for (int pid : shown_processes(found)) {
    Json one = {{"process", pid}, {"command", found.stacks.at(pid).command}, {"threads", Json::array()}};
    for (const ThreadStack* t : shown_threads(found.stacks.at(pid), f)) one["threads"].push_back(tprof::json_of(*t));
    out["stacks"].push_back(std::move(one));
  }
  return out;
}

}  // namespace tprof::hang
