// Reading the frames of a Python whose memory holds anything: this process, in which a small interpreter is laid out
// and then damaged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "remote/process.h"
#include "remote/snapshots.h"

namespace tprof::remote {
namespace {

constexpr u64 kWords = 4096;
const Snapshots::HasRun kHasRun = [](u64) { return true; };

class DamagedPython : public testing::Test {
 protected:
  DamagedPython() : process_(Process::open(getpid())) {
    layout_.python = 3 << 8 | 13;
    layout_.runtime = address(0);
    layout_.code_type = address(1);
    layout_.interpreters = 0;
    layout_.threads = 0;
    layout_.next_interpreter = 8;
    layout_.next_thread = 0;
    layout_.native_id = 8;
    layout_.first = 16;
    layout_.code = 0;
    layout_.previous = 8;
    layout_.at = 16;
    layout_.name = 16;
    layout_.file = 24;
    layout_.table = 32;
    layout_.first_line = 40;
    layout_.instructions = 48;
  }

  u64 address(u64 word) const { return reinterpret_cast<u64>(words_.data() + word); }

  // Runtime at 0, interpreter at 8, three thread states from 16, 20 frames each from 100, code objects from 1000, their
  // name and table of lines from 2000.
  void lay_out() {
    std::fill(words_.begin(), words_.end(), 0);
    words_[0] = address(8);
    words_[8] = address(16);
    for (u64 t = 0; t < 3; t++) {
      u64 state = 16 + 8 * t;
      words_[state] = t < 2 ? address(state + 8) : 0;
      words_[state + 1] = 100 + t;
      words_[state + 2] = address(100 + 100 * t);
      for (u64 f = 0; f < 20; f++) {
        u64 frame = 100 + 100 * t + 4 * f, code = 1000 + 100 * t;
        words_[frame] = address(code);
        words_[frame + 1] = f < 19 ? address(frame + 4) : 0;
        words_[frame + 2] = address(code) + 48 + 2 * f;
      }
      u64 code = 1000 + 100 * t;
      words_[code + 1] = layout_.code_type;
      words_[code + 2] = words_[code + 3] = address(2000);
      words_[code + 4] = address(2010);
    }
    words_[2002] = 1;  // a string of one character, compact and ASCII, and a table of two bytes
    words_[2004] = 1 << 2 | 1 << 5 | 1 << 6;
    words_[2005] = 'f';
    words_[2012] = 2;
  }

  std::unique_ptr<Process> process_;
  PythonLayout layout_;
  std::vector<u64> words_ = std::vector<u64>(kWords);
};

TEST_F(DamagedPython, whole_it_is_read) {
  lay_out();
  Snapshots snapshots(*process_, layout_, 64);
  std::vector<ThreadSnapshot> out;
  ASSERT_TRUE(snapshots.take(out, kHasRun));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].native, 101u);
  EXPECT_EQ(out[1].frames.size(), 20u);
  EXPECT_EQ(snapshots.codes().code(out[1].frames[0].code).name, "f");
  ASSERT_TRUE(snapshots.take_one(out, 102));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].native, 102u);
}

TEST_F(DamagedPython, of_threads_that_have_not_run_nothing_is_read_again) {
  lay_out();
  Snapshots snapshots(*process_, layout_, 64);
  std::vector<ThreadSnapshot> before, out;
  ASSERT_TRUE(snapshots.take(before, kHasRun));
  words_[100 + 1] = 0;  // of the first thread
  words_[200 + 1] = 0;
  ASSERT_TRUE(snapshots.take(out, [](u64 native) { return native == 101; }));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].frames.size(), before[0].frames.size());
  EXPECT_EQ(out[1].frames.size(), 1u);
}

TEST_F(DamagedPython, any_word_may_be_anything) {
  std::mt19937_64 random(1);
  const u64 kBad[] = {
      0, 1, 8, ~u64(0), ~u64(7), ~u64(0) - 15, ~u64(255), u64(1) << 63, u64(1) << 47, 0x7fffffff, 0xffffffff00, 4096};
  std::vector<ThreadSnapshot> out;
  for (int round = 0; round < 3000; round++) {
    lay_out();
    Snapshots snapshots(*process_, layout_, 64);
    PythonReader reader(*process_, layout_);
    for (int look = 0; look < 4; look++) {
      for (int i = 0; i < 3; i++) {
        u64 word = random() % 8 ? 16 + random() % 400 : random() % kWords;
        words_[word] = random() % 2 ? kBad[random() % std::size(kBad)] : address(random() % kWords) + random() % 2 * 4;
      }
      snapshots.take(out, kHasRun);
      for (const ThreadSnapshot& t : out) EXPECT_LE(t.frames.size(), 64u);
      for (const PythonThread& t : reader.threads()) EXPECT_LE(reader.stack_of(t, 64).frames.size(), 64u);
    }
  }
}

}  // namespace
}  // namespace tprof::remote
