#include "export/tables.h"

#include <malloc.h>

#include <exception>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/printable.h"
#include "dataset/rows.h"
#include "exit_codes.h"
#include "export/format.h"
#include "input/jobs.h"

namespace tprof {
namespace {

using dataset::Origin;

class TablesWriter {
 public:
  explicit TablesWriter(std::unique_ptr<dataset::Store> store) : store_(std::move(store)) {}

  void add(const Input& input, const Model& model) {
    Key key{input.run, input.span, input.worker};
    auto [at, is_new] = origins_.try_emplace(key, Origin{input.run, {}, input.worker, input.span, origins_.size()});
    if (!is_new)
      throw Error(Fault::usage, input.path + ": another trace has its run, worker and span; export them one by one");
    if (model.rank >= 0) at->second.rank = model.rank;
    dataset::write_trace(*store_, at->second, model, counts_);
    Rank rank = rank_of(model, input.worker);
    if (rank.number < 0) without_number_[key] = rank;
    jobs_.add(input, std::move(rank));
  }

  // What follows from all ranks of a job.
  void finish() {
    jobs_.finish();
    for (const Job& job : jobs_.all()) {
      std::vector<Origin> origins;
      for (const Rank& rank : job.ranks) {
        Key key{job.run, job.span, rank.worker};
        origins.push_back(origins_.at(key));
        without_number_.erase(key);
      }
      dataset::write_ranks(*store_, origins, job.ranks, job.found, counts_);
    }
    // What is left are processes that are no ranks of their jobs.
    for (const auto& [key, rank] : without_number_)
      dataset::write_ranks(*store_, {origins_.at(key)}, {rank}, distributed({rank}), counts_);
    store_->finish();
  }

  std::string said() const {
    std::string out = count_of(origins_.size(), "trace");
    for (size_t i = 0; i < dataset::kTables; i++)
      out += std::string(i ? ", " : "; rows: ") + dataset::tables()[i].name + " " + std::to_string(counts_[i]);
    return out;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // run, span, worker

  std::unique_ptr<dataset::Store> store_;
  dataset::RowCounts counts_{};
  std::map<Key, Origin> origins_;
  std::map<Key, Rank> without_number_;
  Jobs jobs_;
};

}  // namespace

int write_tables(Inputs& inputs, const std::string& out,
                 std::unique_ptr<dataset::Store> (*make)(const std::string& out)) {
  if (out.empty()) throw Error(Fault::usage, "--output OUT is missing: a name that is free, for the tables");
  TablesWriter writer(make(out));
  // One trace after the other is read. Their arrays go back to the system, of which glibc would keep those below 32 MB.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  std::exception_ptr failure;  // of writing, which ends it all; each() goes on where an input is wrong
  inputs.read_one_at_a_time();
  int code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
    if (!failure) try {
        writer.add(input, model);
      } catch (...) {
        failure = std::current_exception();
      }
  });
  if (failure) std::rethrow_exception(failure);
  if (code == kExitUnreadable) return code;
  writer.finish();
  print(stdout, printable(out + ": " + writer.said()) + "\n");
  return code;
}

}  // namespace tprof
