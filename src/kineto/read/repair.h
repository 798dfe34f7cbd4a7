// Repairs what profilers wrote instead of JSON.
#pragma once
#include <stddef.h>

#include <string>
#include <string_view>

namespace tprof::kineto {

// The text with control characters and false escapes in strings escaped, half surrogate pairs replaced, and bare words
// that JSON does not know (N/A, nan, -inf) put in quotes. See pytorch/kineto#336, pytorch#130622.
std::string repaired_json(std::string_view text);

// The text with bytes that are not UTF-8 replaced by U+FFFD; empty if all of it is UTF-8.
std::string repaired_utf8(std::string_view text);

// The number of bytes at the start that are UTF-8.
size_t good_utf8(std::string_view text);

}  // namespace tprof::kineto
