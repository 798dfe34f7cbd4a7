#include "model/job.h"

#include "json/json.h"

namespace tprof {

JobPlace place_of(const FileHeader& header, const Meta& meta) {
  if (header.role.load() != u32(Role::program)) return {};
  auto info = [&](const std::string& key) -> const char* {
    auto found = meta.info.find(key);
    return found == meta.info.end() ? nullptr : found->second.c_str();
  };
  JobPlace place = place_in_job([&](const char* name) { return info(std::string("env.") + name); });
  const char* said = info("distributed");
  const Json known = said ? bounded_json(said) : Json();
  auto number = [&](const char* key) {
    i64 value = known[key].is_integer() ? known[key].integer() : -1;
    return value >= 0 && value <= INT32_MAX ? i32(value) : -1;
  };
  if (i32 rank = number("rank"); rank >= 0) {
    if (rank != place.rank) place = {};  // a process of its own making: the launcher's words are not about it
    place.rank = rank;
    place.world_size = number("world_size");
  }
  return place;
}

}  // namespace tprof
