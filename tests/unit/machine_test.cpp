// What the finisher sees of the machine, read from files made here.
#include "convert/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tprof {
namespace {

namespace fs = std::filesystem;

constexpr u32 kPid = 4711;
constexpr u64 kSecond = 1'000'000'000;

double figure(const MachineFigures& figures, const char* key) {
  for (u32 i = 0; i < kMachineFigures; i++)
    if (!strcmp(kMachineRows[i].key, key)) return figures[i];
  ADD_FAILURE() << key << " is no figure";
  return 0;
}

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    char name[] = "/tmp/machine_test-XXXXXX";
    root_ = mkdtemp(name);
    places_ = {root_ + "/proc", root_ + "/dev/nvidia", root_ + "/cpu", TPROF_SAMPLES "/libnvml_stub.so"};
    write("proc/stat", "cpu  1000 200 300 5000 70 10 20 400 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
    write("proc/loadavg", "3.25 2.00 1.00 5/100 9\n");
    write("proc/4711/stat",
          "4711 (a (b) c) S 1 1 1 0 -1 4194304 5 0 0 0 700 50 0 0 20 0 4 0 9 1 2 3 4 5 6 7 8 9 10 "
          "11 12 13 14 15 17 6 0 0 0 0 0\n");
    write("proc/4711/schedstat", "8000000000 1500000000 77\n");
    write("proc/4711/status", "Name:\ta\nCpus_allowed:\t3,f0000001\nCpus_allowed_list:\t0,28-33\n");
    write("cpu/cpu6/cpufreq/scaling_cur_freq", "2400000\n");
  }
  ~MachineTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  void open_gpu() {
    write("dev/nvidiactl", "");
    fs::create_directories(root_ + "/proc/4711/fd");
    fs::create_symlink(root_ + "/dev/nvidia0", root_ + "/proc/4711/fd/5");
  }

  std::string root_;
  MachinePlaces places_;
};

TEST_F(MachineTest, ReadsTheMachineAndTheProgram) {
  MachineLook look = Machine(kPid, places_).look();
  auto tick = double(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(look.busy_s, 1530 / tick);
  EXPECT_DOUBLE_EQ(look.stolen_s, 400 / tick);
  EXPECT_DOUBLE_EQ(look.own_s, 750 / tick);
  EXPECT_DOUBLE_EQ(look.waited_s, 1.5);
  EXPECT_DOUBLE_EQ(look.load, 3.25);
  EXPECT_DOUBLE_EQ(look.cpus, 7);
  EXPECT_DOUBLE_EQ(look.cpu_mhz, 2400);
  EXPECT_LT(look.gpu_mhz, 0);
}

TEST_F(MachineTest, WhatIsNotThereIsNotKnown) {
  fs::remove_all(root_ + "/proc");
  MachineLook look = Machine(kPid, places_).look();
  for (double value :
       {look.busy_s, look.stolen_s, look.own_s, look.waited_s, look.load, look.cpus, look.cpu_mhz, look.gpu_mhz})
    EXPECT_LT(value, 0);
  Machine machine(kPid, places_);
  machine.add(look);
  look.realtime_ns += kSecond;
  machine.add(look);
  for (double value : machine.between(look.realtime_ns - kSecond / 2, look.realtime_ns)) EXPECT_TRUE(std::isnan(value));
}

TEST_F(MachineTest, AsksTheGpusThatWorkOfAProgramThatHasOpenedOne) {
  EXPECT_LT(Machine(kPid, places_).look().gpu_mhz, 0);
  open_gpu();
  MachineLook look = Machine(kPid, places_).look();
  EXPECT_DOUBLE_EQ(look.gpu_mhz, 1410);
  EXPECT_DOUBLE_EQ(look.gpu_memory_mhz, 2619);
  EXPECT_DOUBLE_EQ(look.gpu_held_down, 1);
  places_.nvml = root_ + "/no.so";
  EXPECT_LT(Machine(kPid, places_).look().gpu_mhz, 0);
}

TEST_F(MachineTest, TellsAWindowWhatHeldMeanwhile) {
  Machine machine(kPid, places_);
  for (int i = 0; i <= 10; i++) {
    MachineLook look;
    look.realtime_ns = 100 * kSecond + u64(i) * kSecond;
    look.own_s = 50 + i;
    look.waited_s = i < 5 ? 0 : 0.5 * (i - 5);
    look.busy_s = 1000 + 3 * i;
    look.stolen_s = 7;
    look.load = i;
    machine.add(look);
  }
  MachineFigures early = machine.between(101 * kSecond + 1, 104 * kSecond - 1);
  EXPECT_NEAR(figure(early, "own_cpus"), 1, 1e-9);
  EXPECT_NEAR(figure(early, "other_cpus"), 2, 1e-9);
  EXPECT_NEAR(figure(early, "waited"), 0, 1e-9);
  EXPECT_NEAR(figure(early, "stolen_cpus"), 0, 1e-9);
  EXPECT_NEAR(figure(early, "load"), 2.5, 1e-9);
  EXPECT_TRUE(std::isnan(figure(early, "cpu_mhz")));
  EXPECT_NEAR(figure(machine.between(106 * kSecond, 109 * kSecond), "waited"), 0.5, 1e-9);
}

TEST_F(MachineTest, BeforeTheFirstLookNothingIsKnown) {
  Machine machine(kPid, places_);
  MachineLook look;
  look.load = 1;
  for (u64 s : {100, 101}) look.realtime_ns = s * kSecond, machine.add(look);
  EXPECT_TRUE(std::isnan(figure(machine.between(90 * kSecond, 95 * kSecond), "load")));
  EXPECT_NEAR(figure(machine.between(90 * kSecond, 101 * kSecond), "load"), 1, 1e-9);
}

TEST_F(MachineTest, TheLastLookMayComeBehindTheEndOfTheProgram) {
  Machine machine(kPid, places_);
  for (int i = 0; i < 4; i++) {
    MachineLook look;
    look.realtime_ns = (100 + u64(i)) * kSecond;
    look.busy_s = 2 * i;
    if (i < 3) look.own_s = i;
    machine.add(look);
  }
  MachineFigures figures = machine.between(100 * kSecond, 103 * kSecond);
  EXPECT_NEAR(figure(figures, "own_cpus"), 1, 1e-9);
  EXPECT_NEAR(figure(figures, "other_cpus"), 1, 1e-9);
}

TEST_F(MachineTest, DaysOfLooksStayBounded) {
  Machine machine(kPid, places_);
  MachineLook look;
  for (u64 i = 0; i < 3 * Machine::kMaxLooks; i++) {
    look.realtime_ns = i * kSecond;
    look.busy_s = look.own_s = 0.5 * double(i);
    machine.add(look);
  }
  EXPECT_NEAR(figure(machine.between(kSecond, 3000 * kSecond), "own_cpus"), 0.5, 1e-9);
}

}  // namespace
}  // namespace tprof
