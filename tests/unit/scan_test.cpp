// Reading a trace piece by piece: whatever the size of the buffer, the pieces are those of the document, and what is
// no trace is said to be none.
#include "kineto/read/scan.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "kineto/gzip.h"
#include "random_json.h"
#include "recording_builder.h"

namespace tprof::kineto {
namespace {

using Json = nlohmann::json;

class ScanTest : public testing::Test {
 protected:
  struct Read {
    std::vector<Json> events;
    std::vector<std::pair<std::string, Json>> members;
    ScanEnd end;
    std::string why;
    bool saw_events, is_list, unclosed;
  };

  Read read(const std::string& text, size_t buffer = 1 << 16) {
    std::ofstream(path(), std::ios::binary) << text;
    return read_file(buffer);
  }
  Read read_file(size_t buffer = 1 << 16) {
    TraceScanner scanner(path(), buffer);
    Read out;
    for (Piece piece; scanner.next(piece);) {
      Json value = Json::parse(piece.text, nullptr, false);
      EXPECT_FALSE(value.is_discarded()) << piece.text;
      if (piece.event)
        out.events.push_back(value);
      else
        out.members.emplace_back(std::string(piece.key), value);
    }
    out.end = scanner.end();
    out.why = scanner.why();
    out.saw_events = scanner.saw_events();
    out.is_list = scanner.is_list();
    out.unclosed = scanner.unclosed();
    return out;
  }
  std::string path() const { return dir.path + "/t.json"; }
  test::TempDir dir;
};

TEST_F(ScanTest, AFileThatUnpacksToMoreThanIsAllowedIsRefused) {
  std::string blanks(1 << 20, ' ');
  gzFile file = gzopen(path().c_str(), "wb");
  for (int i = 0; i < 4; i++) gzwrite(file, blanks.data(), unsigned(blanks.size()));
  gzputs(file, R"({"traceEvents": []})");
  gzclose(file);
  EXPECT_EQ(read_file().end, ScanEnd::whole);
  unpack_at_most(3 << 20);
  try {
    read_file();
    ADD_FAILURE() << "it is read";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), path() +
                            ": holds more than 3 MiB when it is unpacked, the most that a page for others is made " +
                            "of; tprof report has no limit");
  }
  unpack_at_most(~u64(0));
}

TEST_F(ScanTest, AnyBufferGivesThePiecesOfTheDocument) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; round++) {
    Json events = Json::array(), document = Json::object();
    for (unsigned n = random() % 8; n > 0; n--) events.push_back(test::random_json(random, true));
    document["traceEvents"] = events;
    for (unsigned n = random() % 4; n > 0; n--) document["m" + std::to_string(n)] = test::random_json(random, true);
    Read found = read(document.dump(random() % 2 ? -1 : 2), 1 + random() % 40);
    ASSERT_EQ(found.end, ScanEnd::whole) << found.why << "\n" << document.dump();
    ASSERT_EQ(Json(found.events), events);
    document.erase("traceEvents");
    ASSERT_EQ(found.members.size(), document.size());
    for (const auto& [key, value] : found.members) ASSERT_EQ(document[key], value);
  }
}

TEST_F(ScanTest, EveryCutIsSeen) {
  std::string text = R"({"a": [1, "x"], "traceEvents": [{"name": "q\"}"}, 7, "s"], "b": true})";
  for (size_t size = 0; size < text.size(); size++) {
    Read found = read(text.substr(0, size), 8);
    EXPECT_EQ(found.end, ScanEnd::cut) << text.substr(0, size);
    EXPECT_NE(found.why, "");
  }
  EXPECT_EQ(read(text + "\n \n").end, ScanEnd::whole);
}

TEST_F(ScanTest, WhatIsNoTraceIsSaid) {
  EXPECT_EQ(read("7").end, ScanEnd::not_object);
  EXPECT_EQ(read("{} {}").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({"a" 1})").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({"a": 1 "b": 2})").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({"traceEvents": [{}, ]})").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({"traceEvents": [{} {}]})").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({"traceEvents": [], })").end, ScanEnd::bad_json);
  EXPECT_EQ(read(R"({a: 1})").end, ScanEnd::bad_json);
  EXPECT_FALSE(read(R"({"traceEvents": {}})").saw_events);
  EXPECT_FALSE(read("{}").saw_events);
  EXPECT_TRUE(read(R"({"traceEvents": []})").saw_events);
}

// Chrome's form without a top-level object.
TEST_F(ScanTest, AListOfEventsIsATrace) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; round++) {
    Json events = Json::array();
    for (unsigned n = random() % 6; n > 0; n--) events.push_back(test::random_json(random, true));
    Read found = read(events.dump(random() % 2 ? -1 : 2), 1 + random() % 40);
    ASSERT_EQ(found.end, ScanEnd::whole) << found.why << "\n" << events.dump();
    ASSERT_TRUE(found.saw_events && found.is_list && !found.unclosed);
    ASSERT_EQ(Json(found.events), events);
    ASSERT_TRUE(found.members.empty());
  }
  EXPECT_FALSE(read(R"({"traceEvents": []})").is_list);
}

TEST_F(ScanTest, AListMayLackItsBracketButNotTheEndOfAnEvent) {
  std::string text = R"([{"name": "q\"}"}, {"a": [1, 2]})";
  for (const char* end : {"", ",", " ,\n", "\n"}) {
    Read found = read(text + end, 8);
    EXPECT_EQ(found.end, ScanEnd::whole) << found.why;
    EXPECT_TRUE(found.unclosed);
    EXPECT_EQ(found.events.size(), 2u);
  }
  size_t whole = text.find('}', text.find('}') + 1) + 1, comma = text.find("{\"a");
  for (size_t size = 0; size < text.size(); size++) {
    bool between = size >= whole && size <= comma;
    EXPECT_EQ(read(text.substr(0, size), 8).end, between ? ScanEnd::whole : ScanEnd::cut) << text.substr(0, size);
  }
  EXPECT_EQ(read("[{}, ]").end, ScanEnd::bad_json);
  EXPECT_EQ(read("[{}] {}").end, ScanEnd::bad_json);
  EXPECT_EQ(read("[{} {}]").end, ScanEnd::bad_json);
}

TEST_F(ScanTest, ALongerValueThanWantedIsNotRead) {
  std::ofstream(path()) << R"({"weights": ")" << std::string(1000, 'x') << R"(", "traceEvents": [{}]})";
  TraceScanner scanner(path(), 16, 256);
  Piece piece;
  EXPECT_FALSE(scanner.next(piece));
  EXPECT_EQ(scanner.end(), ScanEnd::bad_json);
}

TEST_F(ScanTest, GzipIsReadAndItsDamageSeen) {
  std::string text = R"({"traceEvents": [)";
  std::mt19937 random(2);
  for (int i = 0; i < 20000; i++) text += "{\"n\": " + std::to_string(random()) + "}, ";
  text += "{}]}";
  gzFile file = gzopen(path().c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  Read whole = read_file();
  EXPECT_EQ(whole.end, ScanEnd::whole) << whole.why;
  EXPECT_EQ(whole.events.size(), 20001u);
  std::ifstream in(path(), std::ios::binary);
  std::string packed((std::istreambuf_iterator<char>(in)), {});
  Read cut = read(packed.substr(0, packed.size() / 2));
  EXPECT_EQ(cut.end, ScanEnd::damaged);
  EXPECT_GT(cut.events.size(), 1000u);
  packed[packed.size() / 2] = static_cast<char>(~packed[packed.size() / 2]);
  EXPECT_EQ(read(packed).end, ScanEnd::damaged);
}

}  // namespace
}  // namespace tprof::kineto
