// The place of a process in a job of several, as its launcher told it.
#pragma once
#include "base/types.h"

namespace tprof {

struct JobPlace {
  const char* variable = nullptr;                                          // that holds the rank
  i32 rank = -1, world_size = -1, local_rank = -1, local_world_size = -1;  // -1: not known
};

struct LauncherVariables {
  const char *rank, *world_size, *local_rank, *local_world_size;
};
constexpr LauncherVariables kLaunchers[] = {
#define LAUNCHER(rank, world_size, local_rank, local_world_size) {rank, world_size, local_rank, local_world_size},
#include "base/launchers.def"
#undef LAUNCHER
};

// The number that a text holds; -1 if it is not one.
inline i32 rank_number(const char* text) {
  if (!text || !*text) return -1;
  i64 number = 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return -1;
    number = 10 * number + (*text - '0');
    if (number > INT32_MAX) return -1;
  }
  return i32(number);
}

// value_of(name of a variable) -> its text, or nullptr.
template <class Environment>
JobPlace place_in_job(Environment value_of) {
  for (const LauncherVariables& launcher : kLaunchers) {
    i32 rank = rank_number(value_of(launcher.rank));
    if (rank < 0) continue;
    auto number = [&](const char* name) { return *name ? rank_number(value_of(name)) : -1; };
    return {launcher.rank, rank, number(launcher.world_size), number(launcher.local_rank),
            number(launcher.local_world_size)};
  }
  return {};
}

}  // namespace tprof
