#include "analysis/ranks/rank.h"

#include <algorithm>
#include <string_view>

#include "analysis/time/activity.h"
#include "analysis/time/exposed.h"
#include "model/communication.h"
#include "model/machine.h"

namespace tprof {
namespace {

class RankReader {
 public:
  RankReader(const Model& model, const std::string& worker)
      : model_(model), classes_(model), windows_(windows_of(model)) {
    out_.worker = worker;
    out_.number = model.rank;
    out_.world_size = model.world_size;
    out_.recorded = model.recorded_ranks;
    out_.span_ns = windows_.time.length();
    out_.host = model.host;
    if (auto boot = model.info.find(kBootId); boot != model.info.end()) out_.boot = boot->second;
    out_.pid = model.pid;
    add_steps();
  }

  Rank run() {
    CollectiveCalls found = collective_calls(model_, classes_, windows_);
    out_.calls = std::move(found.calls);
    out_.on_gpu = found.on_gpu;
    std::map<u32, GpuSets> devices = gpu_sets(model_, classes_);
    IntervalSet on_host = out_.on_gpu ? IntervalSet() : times_of_calls();
    for (const auto& [device, sets] : devices) add_time(sets.computation, out_.on_gpu ? sets.communication : on_host);
    if (devices.empty()) {
      add_time(operators(), on_host);
      add_host_stages();
    }
    out_.work = work_of(model_, classes_, windows_);
    return std::move(out_);
  }

 private:
  i64 length_of(const IntervalSet& set) const { return (set & windows_.time).length(); }
  i64 base() const { return i64(model_.base_time_ns); }

  void add_steps() {
    Overview overview = overview_of(model_);
    out_.gpus = overview.gpus;
    out_.has_steps = windows_.has_steps;
    for (size_t i = 0; i < windows_.steps.size(); i++) {
      const Interval& step = windows_.steps[i];
      out_.steps.push_back({windows_.names[i], {base() + step.begin, base() + step.end}, {}});
      if (i < overview.steps.size()) out_.steps.back().stages = stages_of(overview.steps[i]);
    }
  }

  // On GPUs; what the host does while they are idle is a stage only as far as it loads batches.
  static StageTimes stages_of(const StepTimes& step) {
    StageTimes out{};
    for (u32 c = 0; c < kCategories; c++) {
      auto category = static_cast<Category>(c);
      Stage stage = category <= Category::set             ? Stage::kernels
                    : category == Category::communication ? Stage::collective
                    : category == Category::data_loading  ? Stage::loader
                                                          : Stage::python;
      out[u32(stage)] += whole_ns(step.by[c]);
    }
    return out;
  }

  void add_host_stages() {
    std::vector<StageTimes> stages = host_stages(model_, classes_, windows_, times_of_calls());
    for (size_t i = 0; i < out_.steps.size(); i++) out_.steps[i].stages = stages[i];
  }

  // For one device.
  void add_time(const IntervalSet& computation, const IntervalSet& communication) {
    IntervalSet common = computation & communication;
    auto add = [](Overlap& to, i64 span, i64 both, i64 computing, i64 communicating) {
      to.computation_ns += computing - both;
      to.overlap_ns += both;
      to.communication_ns += communicating - both;
      to.other_ns += span - computing - communicating + both;
    };
    add(out_, out_.span_ns, length_of(common), length_of(computation), length_of(communication));
    for (size_t i = 0; i < windows_.steps.size(); i++) {
      auto [begin, end] = windows_.steps[i];
      add(out_.steps[i].overlap, end - begin, common.length_in(begin, end), computation.length_in(begin, end),
          communication.length_in(begin, end));
    }
  }

  // Where some thread is in an operator.
  IntervalSet operators() const {
    Waits waits(model_, classes_);
    HostTimelines timelines(model_, classes_, waits);
    std::vector<Interval> any;
    for (u32 thread = 0; thread < model_.threads.size(); thread++)
      for (const ActivityPiece& piece : timelines.of(thread))
        if (piece.activity == Activity::operating && !is_collective_op(model_.name_of(model_.events[piece.event])))
          any.push_back({piece.begin_ns, piece.end_ns});
    return IntervalSet(std::move(any));
  }

  IntervalSet times_of_calls() const {
    std::vector<Interval> any;
    for (const CollectiveCall& call : out_.calls) any.push_back({call.begin_ns - base(), call.time().end - base()});
    return IntervalSet(std::move(any));
  }

  const Model& model_;
  NameClasses classes_;
  Windows windows_;
  Rank out_;
};

}  // namespace

Rank rank_of(const Model& model, const std::string& worker) { return RankReader(model, worker).run(); }

std::string uneven_steps(const std::vector<Rank>& ranks) {
  auto fewer = [](const Rank& a, const Rank& b) { return a.steps.size() < b.steps.size(); };
  bool all_have = std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.has_steps; });
  if (ranks.size() < 2 || !all_have) return "";
  auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), fewer);
  constexpr char kMatched[] = "; what they did together is matched by its collectives";
  if (fewer(*least, *most))
    return "the ranks did not make equally many steps: " + std::to_string(least->steps.size()) + " on " +
           least->text() + ", " + std::to_string(most->steps.size()) + " on " + most->text() + kMatched;
  for (const Rank& rank : ranks)
    if (!rank.steps.empty() && rank.steps[0].name != ranks[0].steps[0].name)
      return "the steps of the ranks have other numbers: the first one is step " + ranks[0].steps[0].name + " on " +
             ranks[0].text() + ", step " + rank.steps[0].name + " on " + rank.text() + kMatched;
  return "";
}

size_t keep_ranks(std::vector<Rank>& ranks) {
  auto numbered = [](const Rank& rank) { return rank.number >= 0 && rank.world_size != 1; };
  size_t before = ranks.size();
  if (std::any_of(ranks.begin(), ranks.end(), numbered))
    std::erase_if(ranks, [](const Rank& rank) { return rank.number < 0; });
  std::stable_sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    if (a.number < 0 || b.number < 0) return a.number > b.number;
    return a.number != b.number ? a.number < b.number : a.worker < b.worker;
  });
  return before - ranks.size();
}

}  // namespace tprof
