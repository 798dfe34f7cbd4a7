// The ranks of a communicator: processes that meet in shared memory. Nothing here knows CUDA.
#pragma once
#include <atomic>
#include <string>

#include "types.h"

namespace sim_nccl {

using namespace sim;

constexpr int kMaxRanks = 8;
constexpr size_t kStageBytes = 64 << 10, kBoxBytes = 4 << 10;

// What one rank shows to all, and what one sends to another, piece by piece.
struct Seat {
  std::atomic<u64> value;
  i64 words[2];
  char stage[kStageBytes];
};
struct Box {
  std::atomic<u64> offered, wanted;  // messages
  std::atomic<u64> send_value, receive_value;
  std::atomic<u64> sent, taken;  // pieces
  u64 piece;
  char stage[kBoxBytes];
};
struct Hall {
  std::atomic<u32> arrived, turn, failed;
  Seat seats[kMaxRanks];
  Box boxes[kMaxRanks][kMaxRanks];  // from, to
};

class World {
 public:
  // Waits for the others. Null: they did not come.
  static World* join(const std::string& name, int ranks, int rank);
  ~World();

  bool barrier();
  // The largest of the values of all ranks.
  bool meet(u64 value, u64* largest);
  void fail() { hall_->failed = 1; }
  bool failed() const { return hall_->failed != 0; }

  const std::string name;
  const int ranks, rank;
  Seat& seat(int of) { return hall_->seats[of]; }
  Box& box(int from, int to) { return hall_->boxes[from][to]; }

 private:
  World(std::string name, int ranks, int rank, Hall* hall) : name(name), ranks(ranks), rank(rank), hall_(hall) {}
  Hall* hall_;
};

// Calls `done` until it is true; false: time is up, or a rank of the world has failed.
template <class Done>
bool wait_until(const World& world, Done done);
u64 timeout_ns();
u64 monotonic_ns();
void pause_shortly();

template <class Done>
bool wait_until(const World& world, Done done) {
  for (u64 end = monotonic_ns() + timeout_ns(); !done(); pause_shortly())
    if (world.failed() || monotonic_ns() > end) return false;
  return true;
}

}  // namespace sim_nccl
