// How many columns a terminal takes to show a text: wide characters (East Asian, emoji) take two, combining ones none.
// The text is printable() (base/printable.h).
#pragma once
#include <string>
#include <string_view>

namespace tprof {

size_t display_width(std::string_view text);

// The longest start of the text that takes at most `width` columns.
std::string cut_to_width(std::string_view text, size_t width);

}  // namespace tprof
