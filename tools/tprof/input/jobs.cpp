#include "input/jobs.h"

#include <algorithm>
#include <set>

#include "analysis/ranks/doubts.h"
#include "exit_codes.h"
#include "input/facts.h"
#include "report/communication.h"

namespace tprof {

void Jobs::add(const Input& input, Rank rank) {
  auto is_it = [&](const Rank& other) { return rank.number >= 0 && other.number == rank.number; };
  size_t into = jobs_.size(), turn = 1;
  for (size_t i = 0; i < jobs_.size() && into == jobs_.size(); i++) {
    if (jobs_[i].run != input.run || jobs_[i].span != input.span) continue;
    if (std::any_of(jobs_[i].ranks.begin(), jobs_[i].ranks.end(), is_it))
      turn++;
    else
      into = i;
  }
  if (into == jobs_.size()) jobs_.push_back({input.run, input.span, turn});
  jobs_[into].ranks.push_back(std::move(rank));
  job_of_[input.path] = into;
}

void Jobs::add(const Input& input, std::shared_ptr<const PluginRank> rank) {
  auto is_it = [&](const Job& job) { return job.run == input.run && job.span == input.span; };
  auto job = std::find_if(jobs_.begin(), jobs_.end(), is_it);
  if (job == jobs_.end()) job = jobs_.insert(job, {input.run, input.span});
  job->plugin_ranks.push_back(std::move(rank));
}

void Jobs::finish() {
  for (Job& job : jobs_) {
    size_t left_out = keep_ranks(job.ranks);
    job.found = distributed(job.ranks);
    if (job.turn > 1)
      job.doubts.push_back(
          "the directory has several traces of a rank for this span, of jobs that were restarted or have "
          "nothing to do with each other; these are the ranks of number " +
          std::to_string(job.turn));
    for (std::string& line : doubts_of(job.ranks)) job.doubts.push_back(std::move(line));
    if (std::string uneven = uneven_steps(job.ranks); !uneven.empty()) job.doubts.push_back(std::move(uneven));
    job.found.notes.insert(job.found.notes.end(), job.doubts.begin(), job.doubts.end());
    // Traces that state no rank may have nothing to do with each other, as two files that somebody looks at together.
    if (!job.ranks.empty() && job.ranks.back().number < 0) job.doubts.clear();
    if (left_out)
      job.found.notes.push_back("traces of " + std::to_string(left_out) +
                                " processes that are no ranks of the job are left out");
  }
}

int Jobs::code_with_doubts(int code) const {
  bool doubtful = std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.doubts.empty(); });
  return doubtful && code == kExitOk ? int(kExitPartial) : code;
}

RankFacts Jobs::facts_of(const Input& input) const {
  auto at = job_of_.find(input.path);
  if (at == job_of_.end()) return {};
  const Job& job = jobs_[at->second];
  return tprof::facts_of(job.found, job.ranks, input.worker);
}

Jobs jobs_of(Inputs& inputs) {
  Jobs out;
  if (may_hold_jobs(inputs.all()))
    inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
      out.add(input, rank_of(model, input.worker));
    });
  else
    for (const Input& input : inputs.all()) out.add(input, {.worker = input.worker});
  out.finish();
  return out;
}

int add_ranks(Inputs& inputs, Jobs& jobs) {
  bool any = false;
  if (inputs.all().size() > kFactsFrom)
    inputs.leave_out([&](const Input& input) {
      std::optional<Rank> rank = read_facts(input.path);
      if (rank) jobs.add(input, std::move(*rank));
      any |= rank.has_value();
      return rank.has_value();
    });
  int code = kExitOk;
  if (!any || !inputs.all().empty())
    code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
      jobs.add(input, rank_of(model, input.worker));
    });
  jobs.finish();
  code = jobs.code_with_doubts(code);
  return any && code == kExitUnreadable ? int(kExitPartial) : code;
}

Json stragglers_json(const Job& job) {
  Json ranks = Json::array();
  for (const RankWait& wait : job.found.waits) {
    const Rank& rank = job.ranks[wait.rank];
    bool known = wait.straggler != Straggler::unknown;
    ranks.push_back({{"worker", rank.worker},
                     {"rank", rank.number < 0 ? Json() : Json(rank.number)},
                     {"waiting_us", double(wait.wait_ns) / 1e3},
                     {"waits_for", wait.for_rank == kNone ? Json() : Json(job.ranks[wait.for_rank].worker)},
                     {"slowest_in", wait.slowest_in},
                     {"straggler", known ? Json(wait.straggler == Straggler::yes) : Json()}});
  }
  return {{"run", job.run},       {"span", job.span_text()},        {"lines", waiting_lines(job.found, job.ranks)},
          {"doubts", job.doubts}, {"compared", job.found.compared}, {"ranks", std::move(ranks)}};
}

bool may_hold_jobs(const std::vector<Input>& inputs) {
  std::set<std::pair<std::string, std::string>> seen;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
    return !seen.insert({input.run, input.span}).second;
  });
}

}  // namespace tprof
