#include "request.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tprof::view {
namespace {

using What = Wanted::What;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}
bool is_printed(char c) { return c > ' ' && c < 0x7f; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The text up to a mark, which is taken away with it; all of the text where there is no mark.
std::string_view take(std::string_view& from, std::string_view mark) {
  size_t at = from.find(mark);
  std::string_view out = from.substr(0, at);
  from.remove_prefix(at == std::string_view::npos ? from.size() : at + mark.size());
  return out;
}

// In a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differ = 0;
  for (size_t i = 0; i < a.size(); i++) differ |= unsigned(u8(a[i]) ^ u8(b[i]));
  return differ == 0;
}

std::optional<u64> number_in(std::string_view text) {
  if (text.empty() || text.size() > 15) return {};
  u64 out = 0;
  for (char c : text) {
    if (!is_digit(c)) return {};
    out = out * 10 + u64(c - '0');
  }
  return out;
}

int hex_digit(char c) {
  char small = char(c | 0x20);
  return is_digit(c) ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// Nothing if a % is not followed by two hexadecimal digits, or stands for a zero byte, which no name holds.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return {};
    int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return {};
    out += char(high * 16 + low);
    i += 2;
  }
  return out;
}

struct Line {
  std::string_view method, target;
};

std::variant<Line, Refusal> read_line(std::string_view line) {
  Line out;
  out.method = take(line, " ");
  out.target = take(line, " ");
  if (!is_token(out.method) || out.target.empty() || !std::all_of(out.target.begin(), out.target.end(), is_printed))
    return Refusal{400, "the first line of the request is not METHOD TARGET VERSION"};
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return Refusal{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return out;
}

// The fields of the header that matter here.
struct Fields {
  std::optional<std::string> host, origin;
  std::optional<Refusal> read(std::string_view text) {
    for (size_t count = 0; !text.empty(); count++) {
      if (count == kMostFields) return Refusal{431, "the request has too many header fields"};
      std::string_view value = take(text, "\r\n");
      bool has_value = value.find(':') != std::string_view::npos;
      std::string_view name = take(value, ":");
      bool is_clean =
          std::none_of(value.begin(), value.end(), [](char c) { return (u8(c) < ' ' && c != '\t') || c == 0x7f; });
      if (!has_value || !is_token(name) || !is_clean)
        return Refusal{400, "a header field of the request is not NAME: VALUE"};
      if (auto refused = note(lower(name), trimmed(value))) return refused;
    }
    return {};
  }

 private:
  std::optional<Refusal> note(const std::string& name, std::string_view value) {
    if (name == "transfer-encoding" || (name == "content-length" && value != "0"))
      return Refusal{413, "a request has no body here"};
    std::optional<std::string>* kept = name == "host" ? &host : name == "origin" ? &origin : nullptr;
    if (!kept) return {};
    if (*kept) return Refusal{400, "the request has two header fields " + name};
    *kept = lower(value);
    return {};
  }
};

std::optional<Refusal> check_origin(const Fields& fields, const Door& door) {
  const std::string port = ":" + std::to_string(door.port);
  const std::array hosts = {"127.0.0.1" + port, "localhost" + port};
  auto is_ours = [&](const std::string& host) { return std::find(hosts.begin(), hosts.end(), host) != hosts.end(); };
  if (!fields.host || !is_ours(*fields.host))
    return Refusal{403, "the Host of the request must be " + hosts[0] + " or " + hosts[1]};
  constexpr std::string_view kScheme = "http://";
  if (fields.origin && (!fields.origin->starts_with(kScheme) || !is_ours(fields.origin->substr(kScheme.size()))))
    return Refusal{403, "the Origin of the request is another server"};
  return {};
}

std::variant<Wanted, Refusal> read_page(std::string_view query) {
  Wanted out{.what = What::page};
  bool has_run = false;
  while (!query.empty()) {
    std::string_view value = take(query, "&"), key = take(value, "=");
    std::optional<std::string> text = percent_decoded(value);
    if (!text) return Refusal{400, "what follows % in the address is not two hexadecimal digits, or is a zero byte"};
    if (key == "run" && !std::exchange(has_run, true))
      out.run = *text;
    else if (key == "worker" && !out.worker)
      out.worker = *text;
    else if (key == "span" && !out.span)
      out.span = *text;
    else
      return Refusal{400, "a page has one run=, one worker= and one span= at most, and nothing else"};
  }
  if (!has_run) return Refusal{400, "a page needs a run=, as the list of runs has it"};
  return out;
}

std::variant<Wanted, Refusal> read_target(std::string_view target, const Door& door) {
  if (!target.starts_with('/')) return Refusal{400, "the address of the request does not begin with /"};
  target.remove_prefix(1);
  std::string_view query = target, path = take(query, "?"), rest = path, token = take(rest, "/");
  if (!same_secret(token, door.token)) return Refusal{403, "this address needs the token that tprof view has printed"};
  if (token.size() == path.size()) return Refusal{404, "there is nothing here; the list of runs ends in /"};
  if (rest == "page") return read_page(query);
  if (!query.empty()) return Refusal{404, "there is nothing here with a question mark"};
  if (rest == "list") return Wanted{.what = What::list};
  if (rest.starts_with("parts/")) {
    take(rest, "/");
    std::optional<u64> page = number_in(take(rest, "/")), part = number_in(rest);
    if (page && part) return Wanted{.what = What::part, .page = *page, .part = *part};
    return Refusal{404, "there is no such part of a page"};
  }
  bool is_name = std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '.'; });
  if (!is_name || rest.find("..") != std::string_view::npos) return Refusal{404, "there is nothing here"};
  return Wanted{.what = What::file, .name = std::string(rest)};
}

}  // namespace

std::optional<size_t> end_of_head(std::string_view received) {
  size_t at = received.find("\r\n\r\n");
  return at == std::string_view::npos ? std::nullopt : std::optional(at + 4);
}

std::variant<Wanted, Refusal> read_request(std::string_view head, const Door& door) {
  head.remove_suffix(2);  // the empty line
  std::variant<Line, Refusal> line = read_line(take(head, "\r\n"));
  if (auto* refusal = std::get_if<Refusal>(&line)) return *refusal;
  const auto& [method, target] = std::get<Line>(line);
  Fields fields;
  if (auto refused = fields.read(head)) return *refused;
  if (method != "GET" && method != "HEAD")
    return Refusal{405, "only GET and HEAD are answered: nothing can be changed here"};
  if (auto refused = check_origin(fields, door)) return *refused;
  std::variant<Wanted, Refusal> out = read_target(target, door);
  if (auto* wanted = std::get_if<Wanted>(&out)) wanted->head_only = method == "HEAD";
  return out;
}

std::string percent_encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~')
      out += c;
    else
      out += {'%', kDigits[u8(c) >> 4], kDigits[u8(c) & 15]};
  }
  return out;
}

}  // namespace tprof::view
