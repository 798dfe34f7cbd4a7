#include "everything.h"

#include <string.h>

#include "analysis/ranks/clocks.h"
#include "analysis/ranks/distributed.h"
#include "analysis/ranks/doubts.h"
#include "base/error.h"
#include "export/memory_viz.h"
#include "export/speedscope.h"
#include "json/json.h"
#include "report/advice.h"
#include "report/communication.h"
#include "report/job_tables.h"
#include "report/overview.h"
#include "report/timeline.h"
#include "scratch.h"
#include "stats_words.h"

namespace tprof::fuzz {
namespace {

const TextStyle kStyle{80, false};

void look_at_table(const StatsWord& word, const StatsSubject& subject) {
  StatsAnswer answer = word.table(subject);
  sort_by_default(word, answer.table);
  text_of(answer.table, kStyle);
  json_line(json_of(answer.table));
  for (const auto& [key, table] : answer.more) text_of(table, kStyle);
  if (word.json) json_line(word.json(subject, [](const Table& table) { return json_of(table); }));
}

void look_at_tables(const StatsSubject& subject, bool plugin) {
  for (const StatsWord& word : stats_words())
    if (!word.of_job && (!plugin || word.plugin)) look_at_table(word, subject);
}

void look_at_ranks(const Model& model) {
  std::vector<Rank> ranks = {rank_of(model, "a"), rank_of(model, "b")};
  ranks[1].number = ranks[0].number == 1 ? 0 : 1;
  Distributed found = distributed(ranks);
  text_of(ranks_table(found, ranks), kStyle);
  text_of(stages_table(found, ranks), kStyle);
  doubts_of(ranks);
  clocks_of(ranks);
}

void look_at_exports(const Model& model) {
  static const Scratch scratch;
  try {
    kineto::OutputFile out(scratch.path("speedscope"), false);
    write_speedscope(model, "name", out);
  } catch (const Error&) {
  }
  try {
    kineto::OutputFile out(scratch.path("memory_viz"), false);
    write_memory_viz(model, out);
  } catch (const Error&) {
  }
}

}  // namespace

void look_at_everything(const Model& model, const PluginTrace& plugin) {
  const Source source{"run", "worker", "span"};
  const std::vector<DevicePeak> devices = device_table();
  Facts facts(model, devices);
  overview_text(facts.overview, source, kStyle);
  advice_text(facts, advise(facts), source, SIZE_MAX, kStyle);
  StatsSubject subject(model, plugin, RuleSet::tprof, 0, devices, {}, &facts);
  look_at_tables(subject, false);
  packed_timeline(model, subject.tracks(), subject.counters());
  look_at_ranks(model);
  look_at_exports(model);
  try {
    look_at_tables(StatsSubject(model, plugin, RuleSet::plugin, 0, devices), true);
  } catch (const Error&) {
  }
}

void look_at_samples(const Model& model) {
  const std::vector<DevicePeak> devices;
  const PluginTrace plugin;
  StatsSubject subject(model, plugin, RuleSet::tprof, 0, devices);
  for (const StatsWord& word : stats_words())
    if (!strcmp(word.word, "python") || !strcmp(word.word, "flame")) look_at_table(word, subject);
}

}  // namespace tprof::fuzz
