#include "analysis/ranks/doubts.h"

#include <algorithm>
#include <map>

#include "analysis/ranks/clocks.h"
#include "base/options.h"

namespace tprof {
namespace {

constexpr size_t kNamed = 4;                 // more are counted
constexpr i64 kFarApartNs = 60'000'000'000;  // no clock that is set by a network differs by a minute

// "rank 1, rank 2 and 5 more"
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; i++) out += (i ? ", " : "") + names[i];
  return names.size() > kNamed ? out + " and " + std::to_string(names.size() - kNamed) + " more" : out;
}

class Doubts {
 public:
  explicit Doubts(const std::vector<Rank>& ranks) : ranks_(ranks) {}

  std::vector<std::string> run() {
    if (ranks_.size() < 2) return {};
    add_sizes();
    add_missing();
    add_silent();
    add_clocks();
    return std::move(out_);
  }

 private:
  void add_sizes() {
    std::map<i32, std::vector<std::string>> by_size;
    for (const Rank& rank : ranks_)
      if (rank.world_size > 0) by_size[rank.world_size].push_back(rank.text());
    if (by_size.size() < 2) return;
    std::string line =
        "the ranks state different sizes of their job, so these are traces of several jobs, or of one that "
        "was restarted with another size:";
    for (const auto& [size, names] : by_size) line += " " + std::to_string(size) + " (" + listed(names) + ")";
    out_.push_back(line);
  }

  void add_missing() {
    i32 world = -1;
    std::vector<i32> numbers;
    RankSet wanted;
    OptionError refused;
    for (const Rank& rank : ranks_) {
      if (!rank.recorded.empty()) parse_ranks(rank.recorded.c_str(), wanted, refused);
      world = std::max(world, rank.world_size);
      numbers.push_back(rank.number);
    }
    std::vector<std::string> missing;
    for (i32 r = 0; r < std::min(world, kMaxRanks); r++)
      if (wanted.has(r) && std::find(numbers.begin(), numbers.end(), r) == numbers.end())
        missing.push_back("rank " + std::to_string(r));
    bool numbered = std::all_of(numbers.begin(), numbers.end(), [](i32 n) { return n >= 0; });
    if (numbered && !missing.empty())
      out_.push_back("there is no trace that can be read of " + listed(missing) + " of " + std::to_string(world));
  }

  // Ranks that have nothing in a window in which others have.
  void add_silent() {
    std::vector<std::string> without_steps, without_calls;
    bool steps = false, calls = false;
    for (const Rank& rank : ranks_) {
      steps |= rank.has_steps;
      calls |= !rank.calls.empty();
      if (!rank.has_steps) without_steps.push_back(rank.text());
      if (rank.calls.empty()) without_calls.push_back(rank.text());
    }
    if (steps && !without_steps.empty())
      out_.push_back(listed(without_steps) + ": no step was recorded, as of a rank that ended in the first one");
    if (calls && !without_calls.empty()) out_.push_back(listed(without_calls) + ": no collective was recorded");
  }

  void add_clocks() {
    Clocks clocks = clocks_of(ranks_);
    for (const Clock& clock : clocks.clocks) {
      if (!clock.differs() || (clock.offset_ns < kFarApartNs && clock.offset_ns > -kFarApartNs)) continue;
      std::vector<std::string> names;
      for (u32 r : clock.ranks) names.push_back(ranks_[r].text());
      i64 seconds = clock.offset_ns / 1'000'000'000;
      out_.push_back(listed(names) + ": the clock is " + std::to_string(seconds < 0 ? -seconds : seconds) + " s " +
                     (seconds < 0 ? "behind" : "ahead of") + " that of " + ranks_[clocks.clocks[0].ranks[0]].text());
    }
  }

  static constexpr i32 kMaxRanks = 1 << 20;

  const std::vector<Rank>& ranks_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> doubts_of(const std::vector<Rank>& ranks) { return Doubts(ranks).run(); }

}  // namespace tprof
