// The tables of gpu_tables.h about the critical path.
#include <map>
#include <unordered_map>

#include "analysis/tables/operators.h"
#include "report/columns.h"
#include "report/gpu_tables.h"

namespace tprof {
namespace {

struct LinkSum {
  std::string what, name;
  i64 ns = 0;
  u64 links = 0;
};

i64 path_length(const std::vector<CriticalPath>& steps) {
  i64 sum = 0;
  for (const CriticalPath& path : steps)
    for (i64 ns : path.by_kind) sum += ns;
  return sum;
}

std::string link_kind(const PathPiece& piece) {
  return piece.kind == PathKind::host ? std::string("the host, ") + activity_text(piece.activity)
                                      : path_kind_text(piece.kind);
}

// The name of a link in a form that is cheap to compare: a path has many links and few different names.
struct LinkName {
  enum class Of : u8 { nothing, copy, name, before, range } of = Of::nothing;
  u32 number = 0;  // index into Model::names; for a copy its kind
};

LinkName link_name(const Model& model, const PathPiece& piece) {
  bool of_work = piece.kind == PathKind::computation || piece.kind == PathKind::communication;
  if (piece.kind == PathKind::copy && model.gpu[piece.work].kind() == Kind::copy)
    return {LinkName::Of::copy, u32(copy_kind_of(model.gpu[piece.work]))};
  if (of_work || piece.kind == PathKind::copy) return {LinkName::Of::name, model.gpu[piece.work].name};
  bool before = piece.kind == PathKind::gap || piece.kind == PathKind::held_up;
  if (before && piece.work != kNone) return {LinkName::Of::before, model.gpu[piece.work].name};
  if (piece.call != kNone) return {LinkName::Of::name, model.calls[piece.call].name};
  if (piece.event >= 0) return {LinkName::Of::range, model.events[size_t(piece.event)].name};
  return {};
}

std::string spelled(const Model& model, const LinkName& name) {
  switch (name.of) {
    case LinkName::Of::nothing: return "";
    case LinkName::Of::copy: return copy_kind_text(static_cast<CopyKind>(name.number));
    case LinkName::Of::name: return model.names[name.number];
    case LinkName::Of::before: return "before " + model.names[name.number];
    case LinkName::Of::range: return common_name(model.names[name.number]);
  }
  return "";
}

Table path_table(const char* title, bool by_name, const std::vector<CriticalPath>& steps,
                 const std::vector<LinkSum>& sums) {
  i64 all = path_length(steps);
  auto n = double(std::max<size_t>(steps.size(), 1));
  Columns<LinkSum> c;
  if (by_name)
    c.add("name", "Name", Unit::function, 0, [](auto& r) { return r.name.empty() ? Value() : Value(r.name); });
  c.add("kind", "On the path", Unit::text, 0, [](auto& r) { return r.what; });
  c.add("time", "Per step", Unit::time, 0, [=](auto& r) { return i64(double(r.ns) / n); });
  c.add("share", "Share", Unit::percent, 0, [=](auto& r) { return percent_of(r.ns, all); });
  c.add("links", "Links per step", Unit::number, 1, [=](auto& r) { return double(r.links) / n; });
  return c.table(title, sums);
}

// By kind, or by kind and name.
std::vector<LinkSum> link_sums(const Model& model, const std::vector<CriticalPath>& steps, bool by_name) {
  struct Sum {
    const PathPiece* one;
    LinkName name;
    i64 ns = 0;
    u64 links = 0;
  };
  std::unordered_map<u64, Sum> sums;
  for (const CriticalPath& path : steps)
    for (const PathPiece& piece : path.pieces) {
      LinkName name = by_name ? link_name(model, piece) : LinkName{};
      u64 key = u64{name.number} | u64(name.of) << 32 | u64(piece.kind) << 40 | u64(piece.activity) << 48;
      Sum& sum = sums.try_emplace(key, Sum{&piece, name}).first->second;
      sum.ns += piece.end_ns - piece.begin_ns;
      sum.links++;
    }
  std::map<std::pair<std::string, std::string>, LinkSum> spelled_sums;
  for (const auto& [key, sum] : sums) {
    std::string what = link_kind(*sum.one), name = spelled(model, sum.name);
    LinkSum& all = spelled_sums.try_emplace({what, name}, LinkSum{what, name}).first->second;
    all.ns += sum.ns;
    all.links += sum.links;
  }
  std::vector<LinkSum> out;
  for (auto& [key, sum] : spelled_sums) out.push_back(std::move(sum));
  return out;
}

}  // namespace

Table critical_path_table(const Model& model, const std::vector<CriticalPath>& steps) {
  Table out = path_table("Critical path by kind", false, steps, link_sums(model, steps, false));
  auto n = i64(std::max<size_t>(steps.size(), 1));
  out.footer.push_back("Path of a step: " + time_text(path_length(steps) / n) + " (mean of " +
                       std::to_string(steps.size()) + (steps.size() == 1 ? " step)" : " steps)"));
  return out;
}

Table path_links_table(const Model& model, const std::vector<CriticalPath>& steps) {
  Table out = path_table("Critical path by name", true, steps, link_sums(model, steps, true));
  sort_rows(out, size_t(out.column("time")));
  return out;
}

}  // namespace tprof
