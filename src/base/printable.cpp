#include "base/printable.h"

#include <atomic>

#include "base/types.h"
#include "base/utf8.h"

namespace tprof {
namespace {

struct Range {
  u32 first, last;
};
constexpr Range kUnprintable[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},  // C0, DEL, C1
    {0x061c, 0x061c},   {0x200e, 0x200f},
    {0x202a, 0x202e},  // Arabic letter mark, left-to-right and right-to-left marks,
    {0x2066, 0x2069},  // embeddings, overrides and isolates
    {0x2028, 0x2029},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},    // separators, byte order mark, annotations
    {0xe0000, 0xe007f},  // tags
};

bool is_unprintable(u32 code) {
  for (Range range : kUnprintable)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

void append_one(std::string& out, std::string_view text, size_t& at) {
  size_t bytes = utf8_length(text, at);
  u32 code = bytes ? utf8_code(text, at, bytes) : u8(text[at]);
  char escape[16] = "";
  if (!bytes)
    snprintf(escape, sizeof escape, "\\x%02x", code);
  else if (is_unprintable(code) && code > 0xffff)
    snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
  else if (is_unprintable(code))
    snprintf(escape, sizeof escape, "\\u%04x", code);
  if (escape[0])
    out += escape;
  else
    out += text.substr(at, bytes);
  at += bytes ? bytes : 1;
}

// The length of a colour sequence such as "\033[1;31m"; 0: there is none.
size_t color_at(std::string_view text, size_t at) {
  constexpr size_t kLongest = 8;
  if (!text.substr(at).starts_with("\033[")) return 0;
  size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != text.npos && text[end] == 'm' && end - at < kLongest ? end + 1 - at : 0;
}

std::atomic<void (*)()> g_before_print = nullptr;

}  // namespace

std::string printable(std::string_view one_line) {
  std::string out;
  out.reserve(one_line.size());
  for (size_t at = 0; at < one_line.size();) append_one(out, one_line, at);
  return out;
}

void before_print(void (*hook)()) { g_before_print = hook; }

void print(FILE* to, std::string_view text, bool colors) {
  if (void (*hook)() = g_before_print) hook();
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t as_is = text[at] == '\n' ? 1 : text.substr(at).starts_with("\r\n") ? 2 : colors ? color_at(text, at) : 0;
    if (!as_is) {
      append_one(out, text, at);
      continue;
    }
    out += text.substr(at, as_is);
    at += as_is;
  }
  fwrite(out.data(), 1, out.size(), to);
}

}  // namespace tprof
