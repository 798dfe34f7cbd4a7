#include "world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "switches.h"

namespace sim_nccl {

u64 timeout_ns() { return number_of(Switch::SIMNCCL_TIMEOUT_S) * 1000000000; }

u64 monotonic_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return u64(time.tv_sec) * 1000000000 + u64(time.tv_nsec);
}

void pause_shortly() {
  timespec slice{0, 20000};
  nanosleep(&slice, nullptr);
}

World* World::join(const std::string& name, int ranks, int rank) {
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks) return nullptr;
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* at = ftruncate(file, sizeof(Hall)) == 0
                 ? mmap(nullptr, sizeof(Hall), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                 : MAP_FAILED;
  close(file);
  if (at == MAP_FAILED) return nullptr;
  auto* world = new World(name, ranks, rank, static_cast<Hall*>(at));
  bool all = world->barrier();
  if (rank == 0 || !all) shm_unlink(name.c_str());
  if (all) return world;
  delete world;
  return nullptr;
}

World::~World() { munmap(hall_, sizeof(Hall)); }

bool World::barrier() {
  u32 turn = hall_->turn;
  if (hall_->arrived.fetch_add(1) + 1 == u32(ranks)) {
    hall_->arrived = 0;
    hall_->turn = turn + 1;
    return true;
  }
  return wait_until(*this, [&] { return hall_->turn != turn; });
}

bool World::meet(u64 value, u64* largest) {
  seat(rank).value = value;
  if (!barrier()) return false;
  *largest = 0;
  for (int r = 0; r < ranks; r++) *largest = std::max<u64>(*largest, seat(r).value);
  return barrier();
}

}  // namespace sim_nccl
