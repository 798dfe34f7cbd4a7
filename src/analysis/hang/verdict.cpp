#include "analysis/hang/verdict.h"

#include <ctype.h>

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/hang/reason.h"

namespace tprof::hang {
namespace {

struct Row {
  const char* word;
  Means means;
  const char* sentence;
};
constexpr Row kRows[] = {
#define VERDICT(name, means, sentence) {#name, Means::means, sentence},
#include "analysis/hang/verdict.def"
#undef VERDICT
};
const Row& row_of(Verdict verdict) { return kRows[u8(verdict)]; }

// Nothing is known of it, and so not that it is late.
bool is_unseen(const Rank& rank) {
  return rank.process.state == State::elsewhere && !rank.recorded && !rank.now.records;
}

bool is_here(const Rank& rank) {
  State s = rank.process.state;
  return s == State::alive || s == State::stopped || s == State::elsewhere;
}

class Judge {
 public:
  explicit Judge(const Job& job) : job_(job), meetings_(meetings_of(job)) {}

  Finding run() {
    if (!job_.cannot_tell.empty()) return said(Verdict::unknown, {}, {}, job_.cannot_tell);
    if (auto gone = with_state(State::killed)) return *gone;
    if (auto stopped = with_state(State::stopped)) return *stopped;
    if (goes_on()) return said(Verdict::fine, {}, {}, "");
    for (const Meeting& m : meetings_)
      if (m.differ != Differ::nothing)
        return said(m.differ == Differ::kinds ? Verdict::kinds_differ : Verdict::sizes_differ, {}, m.waiting, m.calls,
                    &m);
    if (auto found = by_meetings()) return *found;
    return by_stacks();
  }

 private:
  // `at`: where they wait; nullptr: not known.
  Finding said(Verdict v, std::vector<u32> culprits, std::vector<u32> waiting, const std::string& detail,
               const Meeting* at = nullptr) const {
    Finding out{v, std::move(culprits), std::move(waiting), at ? at->group : "", "", 0, 0};
    std::string others;
    if (size_t n = out.waiting.size()) {
      others = n == 1 ? name_of(job_.ranks[out.waiting[0]]) + " waits" : std::to_string(n) + " ranks wait";
      others = (v == Verdict::ended ? ", and " : "; ") + others + " for it" + (at ? " in " + at->collective : "");
    }
    out.sentence = row_of(v).sentence;
    fill(out.sentence, "{rank}", out.culprits.empty() ? "" : name_of(job_.ranks[out.culprits[0]]));
    fill(out.sentence, "{detail}", detail);
    fill(out.sentence, "{others}", others);
    return out;
  }

  static void fill(std::string& text, const std::string& name, std::string with) {
    size_t at = text.find(name);
    if (at == std::string::npos) return;
    if (at == 0 && !with.empty()) with[0] = char(toupper(static_cast<unsigned char>(with[0])));
    text.replace(at, name.size(), with);
  }

  std::vector<u32> where_state(State state) const {
    std::vector<u32> out;
    for (u32 i = 0; i < job_.ranks.size(); i++)
      if (job_.ranks[i].process.state == state) out.push_back(i);
    return out;
  }

  // Others wait for these sooner or later, whatever they do now.
  std::optional<Finding> with_state(State state) const {
    std::vector<u32> ranks = where_state(state);
    if (ranks.empty()) return {};
    const Meeting* at = nullptr;
    for (const Meeting& m : meetings_)
      if (std::find(m.late.begin(), m.late.end(), ranks[0]) != m.late.end()) at = &m;
    return said(state == State::killed ? Verdict::killed : Verdict::stopped, {ranks[0]},
                at ? at->waiting : std::vector<u32>(), reason_of(job_.ranks[ranks[0]]).detail, at);
  }

  // Every rank whose recording goes on has begun or completed something between the looks. What a rank counts as steps
  // is known also where it records nothing.
  bool goes_on() const {
    bool any = false;
    for (const Rank& rank : job_.ranks) {
      if (is_unseen(rank)) continue;
      if (!is_here(rank)) return false;
      bool steps = rank.now.step_ticks != rank.before.step_ticks;
      any |= steps;
      if (steps || !rank.now.records) continue;
      if (rank.now.groups.empty() && rank.now.step < 0 ? !moved(rank) : !advanced(rank)) return false;
      any = true;
    }
    return any;
  }

  // For whom rank `r` waits in a collective.
  std::set<u32> waits_for(u32 r) const {
    std::set<u32> out;
    for (const Meeting& m : meetings_)
      if (std::find(m.waiting.begin(), m.waiting.end(), r) != m.waiting.end()) out.insert(m.late.begin(), m.late.end());
    return out;
  }

  std::optional<Finding> by_meetings() {
    std::set<u32> late;
    for (const Meeting& m : meetings_) late.insert(m.late.begin(), m.late.end());
    if (late.empty()) return all_are_there();
    std::set<u32> to_blame, unseen;  // those that wait for nobody themselves
    for (u32 r : late)
      if (waits_for(r).empty()) (is_unseen(job_.ranks[r]) ? unseen : to_blame).insert(r);
    if (!to_blame.empty()) return blame(to_blame);
    return unseen.empty() ? crossed() : nobody_seen(unseen);
  }

  // Who is seen waits, and others are not seen.
  Finding nobody_seen(const std::set<u32>& unseen) const {
    const Meeting* at = nullptr;
    for (const Meeting& m : meetings_)
      if (std::find(m.late.begin(), m.late.end(), *unseen.begin()) != m.late.end()) at = &m;
    std::vector<u32> waiting;
    for (u32 i = 0; i < job_.ranks.size(); i++)
      if (at ? std::find(at->waiting.begin(), at->waiting.end(), i) != at->waiting.end()
             : waits_for_peers(job_.ranks[i]))
        waiting.push_back(i);
    std::string detail = unseen.size() == 1 ? "rank " + std::to_string(job_.ranks[*unseen.begin()].number) + " is"
                                            : std::to_string(unseen.size()) + " ranks are";
    detail += " not on this host, and nothing else is known of " + std::string(unseen.size() == 1 ? "it" : "them") +
              ": " + some(waiting) + " in " + (at ? at->collective : "a collective");
    return said(Verdict::unknown, {}, {}, detail, at);
  }

  // Each waits for another one: one has left out a collective, or they come in different orders.
  Finding crossed() const {
    const Meeting* most = nullptr;
    for (const Meeting& m : meetings_)
      if (!m.late.empty() && (!most || m.waiting.size() > most->waiting.size())) most = &m;
    u32 who = most->late[0];
    std::string detail = "it is not in " + most->collective + ", in which " + some(most->waiting) + ", but in ";
    for (const Meeting& m : meetings_)
      if (std::find(m.waiting.begin(), m.waiting.end(), who) != m.waiting.end()) {
        detail += m.collective;
        break;
      }
    return said(Verdict::skipped, {who}, most->waiting, detail, most);
  }

  std::string some(const std::vector<u32>& ranks) const {
    if (ranks.size() != 1) return std::to_string(ranks.size()) + " ranks wait";
    return name_of(job_.ranks[ranks[0]]) + " waits";
  }

  std::optional<Finding> all_are_there() const {
    if (meetings_.empty()) return {};
    const Meeting& m = meetings_[0];
    std::string who = m.waiting.size() == job_.ranks.size() ? "all ranks"
                      : m.waiting.size() == 2
                          ? name_of(job_.ranks[m.waiting[0]]) + " and " + name_of(job_.ranks[m.waiting[1]])
                          : std::to_string(m.waiting.size()) + " ranks";
    bool exchanges = std::any_of(m.waiting.begin(), m.waiting.end(),
                                 [&](u32 r) { return job_.ranks[r].process.moved_bytes >= kMuchBytes; });
    if (exchanges) return said(Verdict::fine, {}, {}, "");
    return said(Verdict::same_collective, {}, m.waiting, who + " are in " + m.collective, &m);
  }

  // The one with the gravest reason, in the order of the table. What one waits for may be known only of some.
  Finding blame(const std::set<u32>& ranks) const {
    std::optional<u32> worst;
    Reason reason;
    for (u32 r : ranks) {
      Reason own = reason_of(job_.ranks[r]);
      if (worst && own.verdict >= reason.verdict) continue;
      reason = own;
      worst = r;
    }
    const Meeting* at = nullptr;
    for (const Meeting& m : meetings_)
      if (std::find(m.late.begin(), m.late.end(), *worst) != m.late.end() &&
          (!at || m.waiting.size() > at->waiting.size()))
        at = &m;
    std::vector<u32> waiting;
    if (at) waiting = at->waiting;
    if (at && is_in_later_step(*worst, *at)) return has_skipped(*worst, *at);
    if (meetings_.empty())
      for (u32 i = 0; i < job_.ranks.size(); i++)
        if (!ranks.contains(i) && waits_for_peers(job_.ranks[i])) waiting.push_back(i);
    Finding out = said(reason.verdict, {*worst}, waiting, reason.detail, at);
    out.tid = reason.tid;
    out.worker = reason.worker;
    out.candidates.assign(ranks.begin(), ranks.end());
    return out;
  }

  // It is in a later step than those who wait for it, so it has left the collective out.
  bool is_in_later_step(u32 who, const Meeting& at) const {
    const Recent& own = job_.ranks[who].now;
    return own.records && !at.waiting.empty() && std::all_of(at.waiting.begin(), at.waiting.end(), [&](u32 r) {
             return job_.ranks[r].now.step >= 0 && job_.ranks[r].now.step < own.step;
           });
  }

  Finding has_skipped(u32 who, const Meeting& at) const {
    auto step_of = [&](u32 rank) { return "step " + std::to_string(job_.ranks[rank].now.step); };
    std::string detail = "it is in " + step_of(who) + " already and has not called " + at.collective + ", in which " +
                         some(at.waiting) + " in " + step_of(at.waiting[0]);
    return said(Verdict::skipped, {who}, at.waiting, detail, &at);
  }

  // Nothing is known of collectives, or no rank is in one.
  Finding by_stacks() const {
    std::set<u32> others, unseen;
    bool any_waits = false, any_moves = false;
    for (u32 i = 0; i < job_.ranks.size(); i++) {
      const Rank& rank = job_.ranks[i];
      if (!is_here(rank)) continue;
      any_moves |= moved(rank);
      if (waits_for_peers(rank))
        any_waits = true;
      else
        (is_unseen(rank) ? unseen : others).insert(i);
    }
    for (State state : {State::ended, State::absent})
      if (std::vector<u32> gone = where_state(state); any_waits && !gone.empty()) others = {gone[0]};
    if (!others.empty()) return blame(others);
    if (!any_waits) return said(Verdict::unknown, {}, {}, "no process of the job is running");
    if (any_moves) return said(Verdict::fine, {}, {}, "");
    if (!unseen.empty()) return nobody_seen(unseen);
    return said(Verdict::same_collective, {}, {}, "all ranks are in a collective");
  }

  const Job& job_;
  std::vector<Meeting> meetings_;
};

}  // namespace

const char* word_of(Verdict verdict) { return row_of(verdict).word; }
Means means(Verdict verdict) { return row_of(verdict).means; }
Finding verdict(const Job& job) { return Judge(job).run(); }

}  // namespace tprof::hang
