// Recordings of a program and its data-loader workers -> Model::loader -> a trace -> Model::loader.
#include <gtest/gtest.h>

#include "convert/loaders.h"
#include "kineto/read/read.h"
#include "kineto/write/writer.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kUs = 1000, kA = 101, kB = 103;  // ticks of a us; iterators
constexpr u64 kEnd = kStart + 10'000 * kUs;    // of the window, which begins at kStart

u64 at(u64 us) { return kStart + us * kUs; }

// The recording of a worker, which did `part` last.
struct Worker : RecordingBuilder {
  Worker(i32 id, u64 iterator, LoaderPart part, u64 since, u32 window_number = 0) {
    header.pid = kPid + 1 + u32(id);
    header.role = u32(Role::helper);
    header.parent_pid = kPid;
    window(window_number, WindowState::sealed, -1, -1, 0, at(50), kEnd);  // as it saw that of the program
    header.loader.since_ticks = since;
    header.loader.loader = iterator;
    header.loader.part = u32(part);
    header.loader.worker = id;
    header.loader.workers = 4;
  }
};

struct LoaderRecordings : testing::Test {
  TempDir dir;
  RecordingBuilder program;

  LoaderRecordings() {
    program.window(0, WindowState::sealed, -1, -1, 0, kStart, kEnd);
    program.window(1, WindowState::sealed, -1, -1, 0, at(20'000), at(30'000));
    program.range(kPid, 1, "aten::all", at(100), at(200));
  }
  std::string path(const std::string& name) const { return dir.path + "/" + name; }

  void write(RecordingBuilder& b) { b.write(path("testhost_" + std::to_string(b.header.pid) + ".1.tprof")); }

  Model model(u32 window = 0) {
    program.write(path("testhost_4242.0.tprof"));
    auto recording = Recording::open(path("testhost_4242.0.tprof"));
    Meta meta = recording->read_meta();
    SpanRequest request = request_of(meta.windows.at(window), meta);
    Model out = build_model(*recording, meta, request);
    add_loaders(out, *recording, meta, request);
    return out;
  }
};

// "loader/worker part begin+duration", in us of the window.
std::vector<std::string> events_of(const Model& model) {
  std::vector<std::string> out;
  for (const LoaderEvent& e : model.loader.events) {
    std::string who = e.worker == kNone ? "program" : std::to_string(model.loader.workers[e.worker].id);
    out.push_back(std::to_string(e.loader) + "/" + who + " " + kLoaderPartNames[u32(e.part)] + " " +
                  std::to_string((e.begin_ns - model.begin_ns) / i64(kUs)) + "+" + std::to_string(e.dur_ns / i64(kUs)) +
                  (e.whole_ns < 0          ? " on"
                   : e.whole_ns > e.dur_ns ? " of " + std::to_string(e.whole_ns / i64(kUs))
                                           : ""));
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST_F(LoaderRecordings, PartsAreCutToTheWindow) {
  program.loader(kPid, 1, LoaderPart::draw, kA, -1, at(0), at(500));
  Worker w(2, kA, LoaderPart::fetch, at(9'000));
  w.loader(w.header.pid, 1, LoaderPart::fetch, kA, 2, at(0) - 700 * kUs, at(300), 100);
  w.loader(w.header.pid, 1, LoaderPart::send, kA, 2, at(300), at(350));
  w.loader(w.header.pid, 1, LoaderPart::wait, kA, 2, at(300), at(9'000));
  write(w);
  Model m = model();
  EXPECT_EQ(events_of(m), (Texts{"1/program draw 0+500", "1/2 fetch 0+300 of 1000", "1/2 send 300+50",
                                 "1/2 wait for work 300+8700", "1/2 fetch 9000+1000 on"}));
  ASSERT_EQ(m.loader.workers.size(), 1u);
  EXPECT_EQ(m.loader.workers[0].of, 4u);
  EXPECT_TRUE(m.loader.workers[0].killed);  // its process is gone and did not leave its loop
  EXPECT_EQ(m.loader.events[1].collate_ns, 100);
  EXPECT_EQ(m.loader.events[1].cpu_ns, i64(500 * kUs));
}

// Nothing begins or ends in the window.
TEST_F(LoaderRecordings, AWorkerThatFetchesThroughTheWindow) {
  Worker goes_on(0, kA, LoaderPart::fetch, at(0) - 5'000 * kUs);
  write(goes_on);
  // What it did was over soon after the window, and in no window.
  Worker ended(1, kA, LoaderPart::wait, kEnd + 100 * kUs);
  ended.header.loader.before = u32(LoaderPart::fetch);
  ended.header.loader.before_ticks = at(2'000);
  write(ended);
  EXPECT_EQ(events_of(model()), (Texts{"1/0 fetch 0+10000 on", "1/1 fetch 2000+8000 on"}));
}

TEST_F(LoaderRecordings, WhatWentOnIntoTheNextWindowIsRecordedThere) {
  Worker w(0, kA, LoaderPart::ended, at(40'000));
  w.window(1, WindowState::sealed, -1, -1, 0, at(20'000), at(30'000));
  w.loader(w.header.pid, 3, LoaderPart::fetch, kA, 0, at(9'000), at(21'000));
  write(w);
  EXPECT_EQ(events_of(model()), (Texts{"1/0 fetch 9000+1000 on"}));
  EXPECT_EQ(events_of(model(1)), (Texts{"1/0 fetch 0+1000 of 12000"}));
  EXPECT_FALSE(model().loader.workers[0].killed);
}

// In flight mode a window gets a higher number whenever the ring goes on, and what is kept has those of before.
TEST_F(LoaderRecordings, OfAWindowThatWasNumberedAnewAllIsRead) {
  Worker w(0, kA, LoaderPart::wait, at(9'000), 20);
  w.loader(w.header.pid, 5, LoaderPart::fetch, kA, 0, at(100), at(400));
  w.loader(w.header.pid, 41, LoaderPart::fetch, kA, 0, at(8'000), at(9'000));
  write(w);
  EXPECT_EQ(events_of(model()), (Texts{"1/0 fetch 100+300", "1/0 fetch 8000+1000", "1/0 wait for work 9000+1000 on"}));
}

TEST_F(LoaderRecordings, OneDataLoaderHasManyIterators) {
  u64 loader = 0x7000;
  program.loader(kPid, 1, LoaderPart::draw, kA, -1, at(0), at(500), loader);
  program.loader(kPid, 1, LoaderPart::draw, kB, -1, at(5'000), at(5'500), loader);
  Worker first(0, kA, LoaderPart::ended, at(4'000)), second(0, kB, LoaderPart::ended, kEnd);
  first.loader(first.header.pid, 1, LoaderPart::fetch, kA, 0, at(0), at(400));
  second.header.pid += 10;
  second.loader(second.header.pid, 1, LoaderPart::fetch, kB, 0, at(5'000), at(5'400));
  write(first);
  write(second);
  EXPECT_EQ(events_of(model()),
            (Texts{"1/program draw 0+500", "1/0 fetch 0+400", "1/program draw 5000+500", "1/0 fetch 5000+400"}));
  // Two of them at the same time are two loaders.
  program.loader(kPid, 1, LoaderPart::draw, kA, -1, at(6'000), at(6'100), loader);
  EXPECT_EQ(events_of(model()).back(), "1/program draw 6000+100");
  EXPECT_EQ(events_of(model())[2], "2/program draw 5000+500");
}

TEST_F(LoaderRecordings, OthersAreLeftAlone) {
  Worker stranger(0, kA, LoaderPart::fetch, at(100)), helper(1, 0, LoaderPart::none, 0);
  stranger.header.parent_pid = kPid + 1000;
  write(stranger);
  write(helper);
  std::ofstream(path("testhost_1.1.tprof")) << "no recording";
  EXPECT_TRUE(model().loader.empty());
  EXPECT_TRUE(model().loader.workers.empty());
}

TEST_F(LoaderRecordings, ATraceHoldsThem) {
  program.loader(kPid, 1, LoaderPart::draw, kA, -1, at(0), at(500));
  for (i32 id : {0, 3}) {
    Worker w(id, kA, LoaderPart::wait, at(2'000));
    w.loader(w.header.pid, 1, LoaderPart::start, kA, id, at(0), at(100));
    w.loader(w.header.pid, 1, LoaderPart::fetch, kA, id, at(100), at(2'000), 70);
    w.loader(w.header.pid, 1, LoaderPart::send, kA, id, at(2'000), at(2'400));
    write(w);
  }
  Model made = model();
  kineto::write_trace(made, path("t.pt.trace.json"), false);
  Model read = kineto::read_trace(path("t.pt.trace.json"));
  EXPECT_EQ(events_of(made).size(), 9u);
  EXPECT_EQ(events_of(read), events_of(made));
  EXPECT_EQ(read.loader.workers.size(), 2u);
  EXPECT_EQ(read.loader.events[3].collate_ns, made.loader.events[3].collate_ns);
  EXPECT_EQ(read.loader.events[3].cpu_ns, made.loader.events[3].cpu_ns);
  EXPECT_TRUE(read.ledger.left_out.empty() && read.ledger.dropped.empty());
  EXPECT_EQ(read.threads.size(), made.threads.size());
}

}  // namespace
}  // namespace tprof
