// What DataLoader workers did, what they did while the program waited, and the verdict, on Models of which it is known.
#include <gtest/gtest.h>

#include <cmath>

#include "advised.h"
#include "analysis/time/loader_verdict.h"
#include "report/loader_tables.h"

namespace tprof {
namespace {

constexpr i64 kUs = 1000;

// A program that draws batches from one DataLoader. Times in us.
struct Loader {
  Model model;

  explicit Loader(u32 workers, i64 length = kStep, double cpus = 8) {
    ModelBuilder b;
    b.step(0, length);
    model = b.model();
    model.begin_ns = 0;
    model.end_ns = length * kUs;
    MachineFigures figures = no_machine_figures();
    figures[u32(MachineFigure::cpus)] = cpus;
    put_machine_figures(figures, model.info);
    for (u32 id = 0; id < workers; id++) model.loader.workers.push_back({1, i32(id), workers, 100 + id});
  }
  void add(LoaderPart part, u32 worker, i64 begin, i64 end, i64 cpu = 0) {
    LoaderEvent e;
    e.begin_ns = begin * kUs;
    e.dur_ns = e.whole_ns = (end - begin) * kUs;
    e.cpu_ns = cpu * kUs;
    e.collate_ns = part == LoaderPart::fetch;
    e.loader = 1;
    e.worker = worker;
    e.part = part;
    model.loader.events.push_back(e);
  }
  void draw(i64 begin, i64 end) { add(LoaderPart::draw, kNone, begin, end); }
  void fetch(u32 worker, i64 begin, i64 end, i64 cpu = 0) { add(LoaderPart::fetch, worker, begin, end, cpu); }
  void wait(u32 worker, i64 begin, i64 end) { add(LoaderPart::wait, worker, begin, end); }
  void send(u32 worker, i64 begin, i64 end) { add(LoaderPart::send, worker, begin, end); }
  LoaderUse use() const { return loader_uses(model, windows_of(model)).at(0); }
};

TEST(Loaders, TimesOfEachWorker) {
  Loader l(2);
  l.draw(0, 1000);
  l.draw(5000, 5100);
  l.fetch(0, 0, 4000);
  l.fetch(0, 4000, 8000);
  l.send(0, 4000, 4500);  // while the next one is fetched
  l.send(0, 8000, 8500);
  l.wait(0, 8000, 10000);
  l.wait(1, 3000, 10000);
  LoaderUse use = l.use();
  ASSERT_EQ(use.workers.size(), 2u);
  const WorkerUse &busy = use.workers[0], &idle = use.workers[1];
  EXPECT_EQ(busy.batches, 2u);
  EXPECT_EQ(busy.fetch_ns, 8000 * kUs);
  EXPECT_EQ(busy.send_ns, 1000 * kUs);
  EXPECT_EQ(busy.fetching_ns, 8000 * kUs);
  EXPECT_EQ(busy.sending_ns, 500 * kUs);
  EXPECT_EQ(busy.waiting_ns, 1500 * kUs);
  EXPECT_EQ(busy.starting_ns, 0);
  EXPECT_EQ(idle.waiting_ns, 7000 * kUs);
  EXPECT_EQ(idle.starting_ns, 3000 * kUs);
  EXPECT_EQ(use.draws, 2u);
  EXPECT_EQ(use.wait_ns, 1100 * kUs);
  EXPECT_EQ(use.part(LoaderWait::some_fetch), 1100 * kUs);
}

TEST(Loaders, APartThatGoesOnIsNoBatchYet) {
  Loader l(1);
  l.draw(0, 1000);
  l.fetch(0, 0, 10000);
  l.model.loader.events.back().whole_ns = -1;
  EXPECT_EQ(l.use().batches, 0u);
  EXPECT_EQ(l.use().workers[0].fetching_ns, 10000 * kUs);
  EXPECT_EQ(l.use().verdict, LoaderVerdict::unknown);
}

TEST(Loaders, AFetchThatMadeNoBatchIsNotCounted) {
  Loader l(1);
  l.fetch(0, 0, 1000);
  l.fetch(0, 1000, 1100);
  l.model.loader.events.back().collate_ns = 0;
  EXPECT_EQ(l.use().batches, 1u);
  EXPECT_EQ(l.use().workers[0].fetching_ns, 1100 * kUs);
}

TEST(Loaders, AFetchThatBeganEarlierCountsWhole) {
  Loader l(1);
  l.fetch(0, 0, 1000);
  l.model.loader.events.back().whole_ns = 5000 * kUs;
  EXPECT_EQ(l.use().workers[0].fetch_ns, 5000 * kUs);
  EXPECT_EQ(l.use().workers[0].fetching_ns, 1000 * kUs);
}

// A draw of 1,500 us every 2,000 us, so that the program itself needs 500 us between two. `fetches`: called with the
// begin of each.
template <class Fetches>
LoaderUse waiting(Loader& l, Fetches fetches) {
  for (i64 at = 0; at < kStep; at += 2000) {
    l.draw(at, at + 1500);
    fetches(at);
  }
  return l.use();
}

TEST(Verdict, TooFewWhenAllFetch) {
  Loader l(2);
  LoaderUse use = waiting(l, [&](i64 at) {
    l.fetch(0, at, at + 2000);
    l.fetch(1, at, at + 2000);
  });
  EXPECT_EQ(use.verdict, LoaderVerdict::too_few);
  EXPECT_EQ(use.needed, 4u);  // 2,000 us of a worker for each 500 us of the program
  EXPECT_NE(remedy_of(use).find("num_workers=4 (now 2)"), std::string::npos) << remedy_of(use);
}

TEST(Verdict, TooSlowWhenThereAreNotEnoughCpus) {
  for (bool enough : {true, false}) {
    Loader l(2, kStep, enough ? 5 : 4);
    LoaderUse use = waiting(l, [&](i64 at) {
      l.fetch(0, at, at + 2000, 2000);
      l.fetch(1, at, at + 2000, 2000);
    });
    EXPECT_EQ(use.verdict, enough ? LoaderVerdict::too_few : LoaderVerdict::too_slow);
  }
}

TEST(Verdict, CpusThatAreNotKnownAreEnough) {
  Loader l(1, kStep, std::nan(""));
  LoaderUse use = waiting(l, [&](i64 at) { l.fetch(0, at, at + 2000, 2000); });
  EXPECT_EQ(use.verdict, LoaderVerdict::too_few);
}

TEST(Verdict, AStragglerFetchesWhileOthersHaveNothingToDo) {
  for (bool straggles : {true, false}) {
    Loader l(2);
    LoaderUse use = waiting(l, [&](i64 at) {
      u32 slow = straggles ? 1 : u32(at / 2000 % 2);
      l.fetch(slow, at, at + 1500);
      l.fetch(1 - slow, at, at + 100);
      l.wait(1 - slow, at + 100, at + 2000);
      l.wait(slow, at + 1500, at + 2000);
    });
    EXPECT_EQ(use.verdict, straggles ? LoaderVerdict::straggler : LoaderVerdict::uneven);
    if (!straggles) continue;
    EXPECT_EQ(use.slow_worker, 1);
    EXPECT_NEAR(use.slow_times, 15, 0.01);
  }
}

TEST(Verdict, BlockedWhenNoneFetches) {
  for (bool sends : {true, false}) {
    Loader l(2);
    LoaderUse use = waiting(l, [&](i64 at) {
      for (u32 w : {0u, 1u}) {
        l.fetch(w, at, at + 100);
        l.send(w, at + 100, at + (sends ? 1400 : 150));
        l.wait(w, at + 100, at + 2000);
      }
    });
    EXPECT_EQ(use.verdict, sends ? LoaderVerdict::sending : LoaderVerdict::not_taken);
    EXPECT_NE(reason_of(use).find("blocked"), std::string::npos);
  }
}

// Unless the program waits for something else, too.
TEST(Verdict, Starting) {
  for (bool only : {true, false}) {
    Loader l(2);
    l.draw(0, 6000);
    l.draw(7000, only ? 7001 : 8000);
    for (u32 w : {0u, 1u}) {
      l.fetch(w, 5950, 6000);
      l.fetch(w, 6000, 9000);
      l.wait(w, 9000, 10000);
    }
    EXPECT_EQ(l.use().verdict, only ? LoaderVerdict::starting : LoaderVerdict::too_few);
  }
}

TEST(Verdict, KeepsUp) {
  Loader l(1);
  l.draw(0, 499);
  l.fetch(0, 0, 9000);
  EXPECT_EQ(l.use().verdict, LoaderVerdict::keeps_up);
}

// Most of the workers were not seen, one draw only, or no whole fetch.
TEST(Verdict, NotEnoughEvidence) {
  Loader unseen(1);
  for (LoaderWorker& w : unseen.model.loader.workers) w.of = 8;
  EXPECT_EQ(waiting(unseen, [&](i64 at) { unseen.fetch(0, at, at + 2000); }).verdict, LoaderVerdict::unknown);
  Loader once(1);
  once.draw(0, 9000);
  once.fetch(0, 0, 4000);
  once.fetch(0, 4000, 8000);
  EXPECT_EQ(once.use().verdict, LoaderVerdict::unknown);
  Loader program_only(0);
  program_only.draw(0, 4000);
  program_only.draw(5000, 9000);
  EXPECT_EQ(program_only.use().verdict, LoaderVerdict::unknown);
  EXPECT_NE(reason_of(program_only.use()).find("nothing is known of them"), std::string::npos);
}

TEST(Loaders, TheMostAwaitedOfSeveral) {
  Loader l(1);
  l.draw(0, 100);
  l.draw(1000, 9000);
  l.model.loader.events.back().loader = 2;
  EXPECT_EQ(most_awaited(loader_uses(l.model, windows_of(l.model)))->loader, 2u);
}

TEST(LoaderTable, SaysWhatIsMissing) {
  Loader l(1);
  l.model.loader.workers[0].of = 3;
  l.model.loader.workers[0].killed = true;
  l.fetch(0, 0, 1000);
  l.draw(0, 1000);
  Table table = loaders_table(loader_uses(l.model, windows_of(l.model)));
  std::string notes;
  for (const std::string& line : table.footer) notes += line + "\n";
  EXPECT_NE(notes.find("nothing is known of 2 of its 3 workers"), std::string::npos) << notes;
  EXPECT_NE(notes.find("1 worker was killed"), std::string::npos) << notes;
}

TEST(LoaderAdvice, Dl1NamesTheVerdict) {
  Loader l(1);
  waiting(l, [&](i64 at) { l.fetch(0, at, at + 2000); });
  ModelBuilder b;
  b.step(0, kStep);
  for (i64 at = 0; at < kStep; at += 2000) b.label(kLoader, at, at + 1500);
  Model model = b.model();
  model.loader = l.model.loader;
  Facts facts(model, known_devices());
  std::vector<Advice> advice = advise(facts);
  auto found = std::find_if(advice.begin(), advice.end(), [](auto& a) { return std::string(a.rule->id) == "DL1"; });
  ASSERT_NE(found, advice.end());
  EXPECT_NE(found->match.what.find("Too few workers"), std::string::npos) << found->match.what;
  EXPECT_NE(found->fix().find("num_workers=4"), std::string::npos) << found->fix();
}

}  // namespace
}  // namespace tprof
