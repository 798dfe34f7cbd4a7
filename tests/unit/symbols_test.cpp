// What addresses of ELF files mean: functions, separate debug files, lines; whatever is wrong with the file. And how
// native and Python frames are put together.
#include "symbols/symbols.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "symbols/interleave.h"
#include "symbols/source_lines.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

const std::string kSamples = TPROF_SAMPLES;  // built from symbols_sample.cpp
constexpr u64 kBegin = 0x7f0000000000, kBias = kBegin;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// For the shell: the checkout may stand anywhere.
std::string quoted(const std::string& path) {
  std::string out = "'";
  for (char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Address behind the first instruction of a function, found without our own reader.
u64 address_of(const std::string& path, const std::string& name) {
  std::string command = "nm " + quoted(path) + " | awk '$3 == \"" + name + "\" { print $1 }'";
  FILE* pipe = popen(command.c_str(), "r");
  unsigned long long address = 0;
  EXPECT_EQ(fscanf(pipe, "%llx", &address), 1) << command;
  pclose(pipe);
  return address + 1;
}

class SymbolsTest : public testing::Test {
 protected:
  void SetUp() override {
    // A name for each test: what was read of a file is kept for the process.
    name_ = std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".so";
    directory_ = testing::TempDir() + "symbols-" + std::to_string(getpid());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    Symbols::debug_directory = directory_ + "/debug";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string copy(const std::string& sample, const std::string& as) {
    fs::copy_file(kSamples + "/" + sample, directory_ + "/" + as, fs::copy_options::overwrite_existing);
    return directory_ + "/" + as;
  }
  void run(const std::string& command) { ASSERT_EQ(system(command.c_str()), 0) << command; }

  // As if the file had been mapped at kBegin.
  void map(const std::string& path, const std::string& build_id, u32 maps = 0) {
    ImageRecord image{};
    image.head.id = maps;
    image.begin = kBegin;
    image.end = kBegin + (1 << 24);
    image.bias = kBias;
    image.path = static_cast<u32>(meta_.names.size() + 1);
    meta_.names[image.path] = path;
    image.build_id_bytes = static_cast<u32>(build_id.size());
    memcpy(image.build_id, build_id.data(), build_id.size());
    meta_.images.push_back(image);
  }
  void map(const std::string& path) {
    auto file = ElfFile::open(path);
    ASSERT_TRUE(file);
    map(path, file->build_id());
  }
  CodeLocation place(u64 address) { return Symbols(meta_).locations_of({kBias + address})[0]; }

  std::string directory_, name_;
  Meta meta_;
};

TEST_F(SymbolsTest, FunctionsAreNamedAndDemangled) {
  std::string file = copy("libsample.so", name_);
  map(file);
  EXPECT_EQ(place(address_of(file, "sample_plain")).text(), name_ + ": sample_plain");
  EXPECT_EQ(place(address_of(file, "_ZN6sample9template_IiEET_S1_i")).function, "int sample::template_<int>(int, int)");
}

TEST_F(SymbolsTest, LinesComeFromDebugInformation) {
  if (line_tool().empty()) GTEST_SKIP() << "neither llvm-symbolizer nor addr2line";
  std::string file = copy("libsample_debug.so", name_);
  map(file);
  CodeLocation found = place(address_of(file, "sample_plain") + 1);
  EXPECT_EQ(found.function, "sample_plain");
  EXPECT_TRUE(found.file.ends_with("symbols_sample.cpp")) << found.file;
  EXPECT_EQ(found.line, 7u);
  EXPECT_EQ(found.text(), found.file + "(7): sample_plain");
}

TEST_F(SymbolsTest, StrippedFilesShowAddressesInTheFile) {
  std::string file = copy("libsample.so", name_);
  u64 local = address_of(file, "_ZL12sample_localv");
  run("strip " + file);
  map(file);
  char text[64];
  snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(local));
  EXPECT_EQ(place(local).text(), name_ + text) << "neither a neighbour nor nothing";
  EXPECT_EQ(place(address_of(kSamples + "/libsample.so", "sample_plain")).function, "sample_plain") << "exported";
}

TEST_F(SymbolsTest, SeparateDebugFilesAreFoundByBuildIdAndByLink) {
  std::string file = copy("libsample_debug.so", name_);
  u64 local = address_of(file, "_ZL12sample_localv");
  std::string id = ElfFile::open(file)->build_id(), hex;
  ASSERT_FALSE(id.empty());
  char digits[3];
  for (unsigned char byte : id) snprintf(digits, sizeof digits, "%02x", byte), hex += digits;
  run("objcopy --only-keep-debug " + file + " " + directory_ + "/libsample.debug");
  run("strip " + file);
  {
    std::string linked = copy("libsample_debug.so", "linked.so");
    run("strip " + linked + " && objcopy --add-gnu-debuglink=" + directory_ + "/libsample.debug " + linked);
    map(linked);
    EXPECT_EQ(place(local).function, "sample_local()");
  }
  meta_ = {};
  std::string place_for_id = Symbols::debug_directory + "/.build-id/" + hex.substr(0, 2);
  fs::create_directories(place_for_id);
  fs::rename(directory_ + "/libsample.debug", place_for_id + "/" + hex.substr(2) + ".debug");
  map(file);
  EXPECT_EQ(place(local).function, "sample_local()");
  if (!line_tool().empty()) {
    EXPECT_GT(place(local).line, 0u);
  }
}

TEST_F(SymbolsTest, AnotherVersionOfTheFileIsNotBelieved) {
  std::string file = copy("libsample.so", name_);
  map(file, "another build");
  EXPECT_EQ(place(0x1234).text(), name_ + "+0x1234");
}

TEST_F(SymbolsTest, AddressesThatWereUsedTwiceBelongToTheFileOfTheirTime) {
  map("/nowhere/first.so", "", 0);
  map("/nowhere/other.so", "", 2);
  Symbols symbols(meta_);
  u64 at = kBegin + 0x10;
  std::vector<CodeLocation> found =
      symbols.locations_of({at, at | u64(1) << kMapShift, at | u64(2) << kMapShift, 0x5000});
  EXPECT_EQ(found[0].image, "first.so");
  EXPECT_EQ(found[1].image, "first.so");
  EXPECT_EQ(found[2].image, "other.so");
  EXPECT_EQ(found[3].text(), "0x5000") << "mapped by nobody";
}

TEST_F(SymbolsTest, DamagedFilesAreSurvived) {
  std::string whole = bytes_of(kSamples + "/libsample_debug.so"), path = directory_ + "/damaged.so";
  ASSERT_GT(whole.size(), 4000u);
  auto look = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    if (auto file = ElfFile::open(path))
      for (u64 address : {u64(0), u64(0x1100), ~u64(0)}) file->function_at(address);
  };
  for (size_t bytes = 0; bytes < whole.size(); bytes += 1 + bytes / 16) look(whole.substr(0, bytes));
  srand(7);
  size_t table = whole.size() - 64 * 40;  // the section table lies at the end, the header at the begin
  for (int round = 0; round < 600; round++) {
    std::string bytes = whole;
    for (int i = 0; i < 8; i++) {
      size_t at = round % 3 == 0   ? size_t(rand()) % 64
                  : round % 3 == 1 ? table + size_t(rand()) % (64 * 40)
                                   : size_t(rand()) % whole.size();
      bytes[at] = static_cast<char>(rand() % 4 ? rand() : 0xff);
    }
    look(bytes);
  }
  EXPECT_EQ(ElfFile::open("/dev/zero"), nullptr);
  EXPECT_EQ(ElfFile::open(directory_), nullptr);
}

TEST(SourceLines, AToolThatHangsIsLeftBehind) {
  std::string directory = testing::TempDir() + "lines-" + std::to_string(getpid()), path = getenv("PATH");
  fs::create_directories(directory);
  std::ofstream(directory + "/llvm-symbolizer") << "#!/bin/sh\necho /made/up.cpp:12\nexec sleep 60\n";
  fs::permissions(directory + "/llvm-symbolizer", fs::perms(0755));  // for root it runs as nobody
  setenv("PATH", (directory + ":" + path).c_str(), 1);
  std::string why_not;
  std::vector<SourceLine> lines = source_lines("/bin/true", {1, 2}, 5000, why_not);
  setenv("PATH", path.c_str(), 1);
  fs::remove_all(directory);
  ASSERT_EQ(lines.size(), 2u) << why_not;
  EXPECT_EQ(lines[0].file, "/made/up.cpp") << why_not;
  EXPECT_EQ(lines[0].line, 12u);
  EXPECT_EQ(lines[1].line, 0u);
}

using Chain = std::vector<ChainFrame>;

TEST(Interleave, EachEvaluationIsReplacedByItsFrames) {
  // c <- [eval] <- call <- [eval] <- main;  Python: f called by g in one evaluation, g entered; h entered.
  Chain native{{1, false}, {2, true}, {3, false}, {2, true}, {4, false}};
  Chain python{{11, false}, {12, true}, {13, true}};
  EXPECT_EQ(interleaved(native, python), (std::vector<u32>{1, 11, 12, 3, 13, 4}));
}

TEST(Interleave, BeforePython311EachFrameHasItsEvaluation) {
  EXPECT_EQ(interleaved({{1, false}, {2, true}, {2, true}, {3, false}}, {{11, true}, {12, true}}),
            (std::vector<u32>{1, 11, 12, 3}));
}

TEST(Interleave, NothingIsLostWhereTheTwoDisagree) {
  EXPECT_EQ(interleaved({{1, false}}, {{11, true}, {12, true}}), (std::vector<u32>{1, 11, 12})) << "native was cut";
  EXPECT_EQ(interleaved({{1, false}, {2, true}, {2, true}}, {{11, true}}), (std::vector<u32>{1, 11, 2}));
  EXPECT_EQ(interleaved({}, {}), std::vector<u32>());
}

TEST(Interleave, WithoutKnownEvaluationsPythonStandsInsideOfTheInterpreter) {
  EXPECT_EQ(interleaved({{1, false}, {2, false, true}, {3, false, true}, {4, false}},
                        {{11, false}, {12, true}, {13, true}}),
            (std::vector<u32>{1, 11, 12, 13, 2, 3, 4}));
}

}  // namespace
}  // namespace tprof
