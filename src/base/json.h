// Parses JSON from files that anybody may have written.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace tprof {

// Null if the text is not JSON. Values more than 64 levels deep are left out, since printing a value recurses once per
// level.
inline nlohmann::ordered_json bounded_json(std::string_view text) {
  using Json = nlohmann::ordered_json;
  auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth < 64; };
  Json value = Json::parse(text, shallow, false);
  return value.is_discarded() ? Json() : value;
}

}  // namespace tprof
