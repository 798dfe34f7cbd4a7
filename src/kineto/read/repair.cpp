#include "kineto/read/repair.h"

#include <string.h>

#include <cctype>

#include "base/types.h"
#include "base/utf8.h"

namespace tprof::kineto {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

bool is_hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return false;
  for (size_t i = at; i < at + 4; i++)
    if (!isxdigit(static_cast<unsigned char>(text[i]))) return false;
  return true;
}

u32 hex4(std::string_view text, size_t at) { return u32(std::stoul(std::string(text.substr(at, 4)), nullptr, 16)); }

// Appends the escape at `at` (a backslash) in a form that JSON allows; returns the address after it.
size_t append_escape(std::string& out, std::string_view text, size_t at) {
  char kind = at + 1 < text.size() ? text[at + 1] : 0;
  if (kind == 'u' && is_hex4(text, at + 2)) {
    u32 code = hex4(text, at + 2);
    bool high = code >= 0xD800 && code < 0xDC00, low = code >= 0xDC00 && code < 0xE000;
    bool pair = high && text.substr(at + 6, 2) == "\\u" && is_hex4(text, at + 8) && hex4(text, at + 8) >= 0xDC00 &&
                hex4(text, at + 8) < 0xE000;
    size_t size = pair ? 12 : 6;
    if ((high && !pair) || low)
      out += "\\ufffd";
    else
      out += text.substr(at, size);
    return at + size;
  }
  if (kind && std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos) {
    out += text.substr(at, 2);
    return at + 2;
  }
  out += "\\\\";
  return at + 1;
}

size_t append_string(std::string& out, std::string_view text, size_t at) {
  out += text[at++];
  while (at < text.size() && text[at] != '"') {
    auto c = static_cast<unsigned char>(text[at]);
    if (c == '\\') {
      at = append_escape(out, text, at);
    } else if (c < 0x20) {
      static const char* const kDigits = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
      at++;
    } else {
      out += text[at++];
    }
  }
  if (at < text.size()) out += text[at++];
  return at;
}

bool ends_word(char c) { return std::string_view(",]}:[{\" \t\r\n").find(c) != std::string_view::npos; }

// Numbers and the three words that JSON allows stay.
bool is_json_word(std::string_view word) {
  if (word == "true" || word == "false" || word == "null") return true;
  return word.find_first_not_of("0123456789+-.eE") == word.npos;
}

}  // namespace

std::string repaired_json(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = append_string(out, text, at);
    } else if (ends_word(text[at])) {
      out += text[at++];
    } else {
      size_t end = at;
      while (end < text.size() && !ends_word(text[end])) end++;
      std::string_view word = text.substr(at, end - at);
      if (is_json_word(word))
        out += word;
      else
        append_string(out, '"' + std::string(word) + '"', 0);
      at = end;
    }
  }
  return out;
}

size_t good_utf8(std::string_view text) {
  size_t good = 0;
  for (size_t n = 1; n; good += n) {
    for (u64 word; good + sizeof word <= text.size(); good += sizeof word) {  // most texts are ASCII
      memcpy(&word, text.data() + good, sizeof word);
      if (word & 0x8080808080808080) break;
    }
    n = good < text.size() ? utf8_length(text, good) : 0;
  }
  return good;
}

std::string repaired_utf8(std::string_view text) {
  size_t good = good_utf8(text);
  if (good == text.size()) return {};
  std::string out(text.substr(0, good));
  for (size_t at = good; at < text.size();) {
    size_t n = utf8_length(text, at);
    if (n)
      out += text.substr(at, n);
    else
      out += kReplacement;
    at += n ? n : 1;
  }
  return out;
}

}  // namespace tprof::kineto
