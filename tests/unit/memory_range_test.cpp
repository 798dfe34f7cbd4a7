// Memory of a time range, and what was alive at a moment.
#include <gtest/gtest.h>

#include <set>

#include "analysis/tables/memory.h"
#include "model_builder.h"
#include "report/stats_tables.h"

namespace tprof {
namespace {

// aten::linear [0, 100] with aten::empty [10, 20] and [30, 40] inside; 512 bytes at 15 to 50, 64 at 35 for good, and
// at 60 a release of what was there before.
struct Traced {
  Traced() {
    ModelBuilder b;
    b.op("aten::linear", 0, 100);
    u32 empty = b.op("aten::empty", 10, 20);
    b.op("aten::empty", 30, 40);
    b.raw().events[empty].stack = b.stack("train.py(7): forward");
    b.memory(15, 0x1000, 512, 612);
    b.memory(35, 0x2000, 64, 676);
    b.memory(50, 0x1000, -512, 164);
    b.memory(60, 0x3000, -100, 64);
    model = b.model();
    tree = build_op_tree(model);
  }
  Table statistics(MemoryRange range) const {
    return memory_table(model, tree, memory_sums(model, part_of(model, tree, range)));
  }
  Table events(MemoryRange range) const { return memory_events_table(model, tree, range); }
  Table alive(i64 us) const { return memory_alive_table(model, tree, us * 1000, 0); }
  Model model;
  OpTree tree;
};

Value cell(const Table& table, size_t row, const char* key) {
  return table.rows.at(row).at(static_cast<size_t>(table.column(key)));
}
size_t row_of(const Table& table, const std::string& name) {
  for (size_t i = 0; i < table.rows.size(); i++)
    if (cell(table, i, "name") == Value(name)) return i;
  ADD_FAILURE() << "no row " << name;
  return 0;
}
MemoryRange us(i64 begin, i64 end) { return {begin * 1000, end * 1000}; }

TEST(MemoryRange, BothEndsLieInIt) {
  Traced t;
  EXPECT_EQ(t.events(us(35, 35)).rows.size(), 1u);
  EXPECT_EQ(t.events(us(36, 49)).rows.size(), 0u);
  EXPECT_EQ(t.events(us(50, 60)).rows.size(), 2u);
  EXPECT_EQ(t.events({}).rows.size(), 3u);
  EXPECT_EQ(t.events({INT64_MIN, 15'000}).rows.size(), 1u);
}

TEST(MemoryRange, AnEventNamesItsOperatorAndWhoCalledThat) {
  Traced t;
  Table events = t.events({});
  EXPECT_EQ(cell(events, 1, "operator"), Value("aten::empty"));
  EXPECT_EQ(cell(events, 1, "caller"), Value("aten::linear"));
  EXPECT_EQ(cell(events, 0, "caller"), Value());  // its allocation was not seen
}

TEST(MemoryRange, StatisticsAreOfTheChangesInItAndTheCallsThatOverlapIt) {
  Traced t;
  Table some = t.statistics(us(20, 55));
  EXPECT_EQ(cell(some, row_of(some, "aten::empty"), "calls"), Value(i64{2}));  // the first ends where it begins
  EXPECT_EQ(cell(some, row_of(some, "aten::empty"), "self_size_increase"), Value(i64{64}));
  EXPECT_EQ(cell(some, row_of(some, "aten::linear"), "self_size_increase"), Value(i64{-512}));
  EXPECT_EQ(cell(some, row_of(some, "aten::linear"), "size_increase"), Value(i64{-448}));
  EXPECT_EQ(cell(some, row_of(some, "aten::linear"), "allocation_count"), Value(i64{1}));
  Table later = t.statistics(us(25, 55));
  EXPECT_EQ(cell(later, row_of(later, "aten::empty"), "calls"), Value(i64{1}));
  EXPECT_TRUE(t.statistics(us(51, 59)).rows.empty());
}

TEST(MemoryRange, OfAllTimeIsTheWholeTable) {
  Traced t;
  EXPECT_EQ(t.statistics({}).rows, t.statistics(us(-1000, 1000)).rows);
}

// Sums up a range from what memory_tree() gives, as a page does.
TEST(MemoryRange, FollowsFromNodesAndChanges) {
  Traced t;
  MemoryTree parts = memory_tree(t.model, t.tree);
  for (auto [begin, end] : {std::pair<i64, i64>{0, 100}, {20, 55}, {25, 55}, {36, 49}, {50, 60}}) {
    std::map<std::string, i64> total, own, calls;
    for (const auto& change : parts.changes.rows) {
      i64 at = std::get<i64>(change[0]);
      if (at < begin * 1000 || at > end * 1000) continue;
      std::set<std::string> counted;
      for (Value node = change[3]; node.index();) {
        const auto& row = parts.nodes.rows.at(static_cast<size_t>(std::get<i64>(node)));
        const std::string& name = std::get<std::string>(row[0]);
        if (counted.empty()) own[name] += std::get<i64>(change[2]);
        if (counted.insert(name).second) total[name] += std::get<i64>(change[2]);
        node = row[1];
      }
    }
    for (const auto& node : parts.nodes.rows)
      calls[std::get<std::string>(node[0])] +=
          std::get<i64>(node[3]) >= begin * 1000 && std::get<i64>(node[2]) <= end * 1000;
    Table table = t.statistics(us(begin, end));
    EXPECT_EQ(table.rows.size(), total.size());
    for (size_t i = 0; i < table.rows.size(); i++) {
      std::string name = std::get<std::string>(cell(table, i, "name"));
      EXPECT_EQ(cell(table, i, "size_increase"), Value(total.at(name)));
      EXPECT_EQ(cell(table, i, "self_size_increase"), Value(own[name]));
      EXPECT_EQ(cell(table, i, "calls"), Value(calls.at(name)));
    }
  }
}

TEST(MemoryAlive, BlocksFromTheirAllocationUpToTheirRelease) {
  Traced t;
  EXPECT_EQ(t.alive(14).rows.size(), 1u);  // what was released at 60, of which no more is known
  EXPECT_EQ(cell(t.alive(14), 0, "operator"), Value());
  EXPECT_EQ(cell(t.alive(14), 0, "size"), Value(i64{100}));
  Table both = t.alive(40);
  ASSERT_EQ(both.rows.size(), 3u);  // by stack as well
  EXPECT_EQ(cell(both, 0, "size"), Value(i64{512}));
  EXPECT_EQ(cell(both, 0, "call_stack"), Value("train.py(7): forward"));
  EXPECT_EQ(cell(both, 2, "call_stack"), Value());
  EXPECT_EQ(t.alive(50).rows.size(), 2u);  // released at 50
  ASSERT_EQ(t.alive(1000).rows.size(), 1u);
  EXPECT_EQ(cell(t.alive(1000), 0, "size"), Value(i64{64}));
}

}  // namespace
}  // namespace tprof
