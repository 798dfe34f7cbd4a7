#include "report/fit.h"

#include <ctype.h>

#include <algorithm>

namespace tprof {
namespace {

// Prefixes of torch's own kernels, which do not distinguish them.
constexpr std::string_view kOwnNamespaces[] = {"at::native::", "(anonymous namespace)::"};
// Texts that look the same after this many cuts remain so; cutting also ends when it finds no further difference.
constexpr int kMaxCuts = 8;

bool continues(char c) { return (u8(c) & 0xc0) == 0x80; }

// The first or last `count` code points, or those from `from` on.
std::string head(const std::string& text, size_t count) {
  size_t at = 0;
  for (; at < text.size() && (continues(text[at]) || count > 0); at++)
    if (!continues(text[at])) count--;
  return text.substr(0, at);
}
std::string tail(const std::string& text, size_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0)
    if (!continues(text[--at])) count--;
  return text.substr(at);
}
std::string middle(const std::string& text, size_t from, size_t count) {
  return head(text.substr(head(text, from).size()), count);
}

const std::string& dots(bool utf8) {
  static const std::string kOne = "…", kThree = "...";
  return utf8 ? kOne : kThree;
}

// The number of code points that all of the texts start with.
size_t common_begin(const std::vector<std::string>& texts) {
  size_t common = texts[0].size();
  for (const std::string& text : texts) {
    size_t same = 0;
    while (same < std::min(common, text.size()) && text[same] == texts[0][same]) same++;
    common = same;
  }
  while (common > 0 && common < texts[0].size() && continues(texts[0][common])) common--;
  return width_of(texts[0].substr(0, common));
}

// The start of a text, and its part from `from` on.
std::string cut_around(const std::string& text, size_t from, size_t width, bool utf8) {
  size_t length = width_of(text), gap = width_of(dots(utf8));
  if (length <= width || width <= 3 * gap) return head(text, width);
  if (from < width - gap) return head(text, width - gap) + dots(utf8);
  size_t first = width / 3, room = width - first - gap;
  if (from + room >= length) return head(text, first) + dots(utf8) + tail(text, room);
  return head(text, first) + dots(utf8) + middle(text, from, room - gap) + dots(utf8);
}

}  // namespace

size_t width_of(const std::string& text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] == '\033')
      at = std::min(text.find('m', at), text.size() - 1);
    else
      width += !continues(text[at]);
  }
  return width;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  lines.push_back(text.substr(at));
  return lines;
}

// A number and its unit stay together.
size_t end_of_word(const std::string& line, size_t from) {
  size_t end = std::min(line.find(' ', from), line.size());
  if (end == line.size() || end == 0 || !isdigit(static_cast<unsigned char>(line[end - 1]))) return end;
  size_t next = std::min(line.find(' ', end + 1), line.size());
  return next - end <= 4 ? next : end;
}

std::string wrapped(const std::string& line, size_t width, size_t hang) {
  std::string out;
  size_t used = 0, begin = std::min(line.find_first_not_of(' '), line.size());
  for (size_t at = 0; at < line.size();) {
    size_t end = end_of_word(line, std::max(at, begin));
    std::string word = line.substr(at, end - at);
    if (width && at && used + 1 + width_of(word) > width) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + std::string(hang, ' ');
      used = hang;
    } else if (at) {
      out += ' ';
      used++;
    }
    out += word;
    used += width_of(word);
    at = end + 1;
  }
  return out;
}

std::string wrapped_lines(const std::string& text, int width) {
  std::string out;
  for (const std::string& line : split_lines(text)) {
    size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out += (out.empty() ? "" : "\n") + wrapped(line, width > 0 ? size_t(width) : 0, indent + 2);
  }
  return out;
}

std::vector<std::string> folded(const std::string& text, size_t width, size_t most) {
  if (text.find(' ', text.find_first_not_of(' ')) == std::string::npos) return {};
  std::vector<std::string> lines = split_lines(wrapped(text, width, 1));
  bool fits = lines.size() <= most &&
              std::all_of(lines.begin(), lines.end(), [=](const std::string& line) { return width_of(line) <= width; });
  return fits ? lines : std::vector<std::string>();
}

std::string cut(const std::string& text, size_t width, bool utf8, Unit unit) {
  if (width_of(text) <= width) return text;
  if (unit == Unit::function)
    for (std::string_view own : kOwnNamespaces)
      if (text.starts_with(own)) return cut(text.substr(own.size()), width, utf8, unit);
  size_t rest = width - std::min(width, width_of(dots(utf8)));
  size_t end = unit == Unit::lines ? rest : unit == Unit::function ? rest / 4 : rest / 2;
  return head(text, rest - end) + dots(utf8) + tail(text, end);
}

std::map<std::string, std::string> cut_apart(const std::set<std::string>& texts, size_t width, bool utf8, Unit unit) {
  std::map<std::string, std::string> shown;
  for (const std::string& text : texts) shown[text] = cut(text, width, utf8, unit);
  for (int n = 0; n < kMaxCuts; n++) {
    std::map<std::string, std::vector<std::string>> alike;  // by what is shown
    for (const auto& [text, cut_text] : shown) alike[cut_text].push_back(text);
    if (alike.size() == shown.size()) break;
    for (const auto& [cut_text, same] : alike) {
      if (same.size() == 1) continue;
      size_t from = common_begin(same);
      for (const std::string& text : same) shown[text] = cut_around(text, from, width, utf8);
    }
  }
  return shown;
}

}  // namespace tprof
