#include "site.h"

#include <algorithm>

#include "assets.h"
#include "base/clock.h"

namespace tprof::view {
namespace {

constexpr char kOwnFiles[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

Answer refused(int status, const std::string& sentence) { return {.status = status, .body = sentence + "\n"}; }

Answer asset(const std::string& name, int status = 200) {
  for (const Asset& one : kAssets)
    if (name == one.name) return {.status = status, .type = one.type, .body = one.text, .policy = kOwnFiles};
  return refused(404, "there is nothing here");
}

}  // namespace

Site::Site(Door door, const std::string& tprof, const std::string& directory)
    : door_(std::move(door)), directory_(directory), pages_(tprof, directory) {}

Answer Site::answer(std::string_view head) {
  std::variant<Wanted, Refusal> asked = read_request(head, door_);
  if (auto* refusal = std::get_if<Refusal>(&asked)) return refused(refusal->status, refusal->sentence);
  const Wanted& wanted = std::get<Wanted>(asked);
  Answer out = answer_to(wanted);
  out.head_only = wanted.head_only;
  return out;
}

Answer Site::answer_to(const Wanted& wanted) {
  switch (wanted.what) {
    case Wanted::What::file: return asset(wanted.name);
    case Wanted::What::list: return {.type = "application/json", .body = json_of(listing())};
    case Wanted::What::page: return page(wanted);
    case Wanted::What::part: break;
  }
  std::shared_ptr<const Page> page = pages_.find(wanted.page);
  if (!page || wanted.part >= page->parts.size())
    return refused(404, "this part of a page is no longer kept; the page makes it anew when it is opened again");
  return {.type = "application/octet-stream", .file = page->parts[wanted.part]};
}

Answer Site::page(const Wanted& wanted) {
  std::vector<kineto::TraceFile> traces = chosen(listing(), wanted.run, wanted.worker, wanted.span);
  if (traces.empty()) return refused(404, "the directory holds no such trace");
  Pages::Answer said = pages_.ask(traces);
  switch (said.state) {
    case Pages::State::ready:
      return {.type = "text/html; charset=utf-8", .file = said.page->html, .policy = said.page->policy};
    case Pages::State::waits: return asset("wait.html", 202);
    case Pages::State::too_many: return refused(503, "too many pages are being made; try again in a minute");
    case Pages::State::failed: break;
  }
  return refused(500, said.why);
}

const Listing& Site::listing() {
  constexpr u64 kOld_ns = 1'000'000'000;
  u64 now = clock_ns(CLOCK_MONOTONIC);
  if (!listed_ns_ || now - listed_ns_ >= kOld_ns) {
    listing_ = list_directory(directory_);
    listed_ns_ = clock_ns(CLOCK_MONOTONIC);
  }
  return listing_;
}

}  // namespace tprof::view
