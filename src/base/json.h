// Reading JSON from files that anybody may have written, and printing it. Broken UTF-8 is printed as U+FFFD.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
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

namespace detail {
inline std::string print_json(const nlohmann::ordered_json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, nlohmann::ordered_json::error_handler_t::replace);
}
}  // namespace detail

inline std::string json_line(const nlohmann::ordered_json& value) { return detail::print_json(value, -1, false); }
inline std::string json_indented(const nlohmann::ordered_json& value) { return detail::print_json(value, 1, false); }
// One line of ASCII, for traces: some viewers read them in the locale's encoding.
inline std::string json_ascii(const nlohmann::ordered_json& value) { return detail::print_json(value, -1, true); }

}  // namespace tprof
