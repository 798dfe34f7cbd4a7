#include "top/page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <numeric>

#include "base/display_width.h"
#include "base/printable.h"
#include "report/table.h"

namespace tprof {
namespace {

using live::LoaderView;
using live::OperatorView;
using live::ProgramView;
using live::SampledLine;

constexpr i64 kOld_ns = 3'000'000'000;      // figures that are older than this say so
constexpr size_t kRateLine = 2;             // of the head
constexpr size_t kRowsOfHead = 4;           // on a screen with fewer rows the rate comes first
constexpr size_t kRowsOfPlainPage = 10;     // of operators and of lines
constexpr size_t kNumber = 11, kShort = 8;  // widths of columns

std::string format(const char* how, double value) {
  char text[64];
  snprintf(text, sizeof text, how, value);
  return text;
}

std::string percent(double share) { return format("%.1f %%", 100 * share); }

std::string share_of(double part, double whole) { return whole > 0 ? percent(part / whole) : "-"; }

// To the right, or to the left, in a column of that width.
std::string right(const std::string& text, size_t width) {
  size_t used = display_width(text);
  return used < width ? std::string(width - used, ' ') + text : text;
}
std::string left(const std::string& text, size_t width) {
  size_t used = display_width(text);
  return used < width ? text + std::string(width - used, ' ') : cut_to_width(text, width);
}

std::string dots(bool utf8) { return utf8 ? "…" : "..."; }

// Keeps the end of a text, which tells more of a path, or its start.
std::string fitted(const std::string& text, size_t width, bool keep_end, bool utf8) {
  if (display_width(text) <= width) return text;
  size_t gap = utf8 ? 1 : 3;
  if (width <= gap + 1) return cut_to_width(text, width);
  if (!keep_end) return cut_to_width(text, width - gap) + dots(utf8);
  size_t at = 0;
  while (at < text.size() &&
         (display_width(std::string_view(text).substr(at)) > width - gap || (text[at] & 0xc0) == 0x80))
    at++;
  return dots(utf8) + text.substr(at);
}

// A part of the page: its title, and rows of which as many are shown as fit.
struct Section {
  std::vector<PageLine> lines;  // the first one is the title
  size_t least = 2;             // fewer lines of it say nothing
};

class Page {
 public:
  Page(const std::vector<ProgramView>& programs, const PageStyle& style)
      : programs_(programs), style_(style), columns_(std::max<size_t>(style.columns, 1)) {}

  std::vector<PageLine> lines();

 private:
  std::vector<PageLine> head(const ProgramView& p) const;
  Section time_of(const ProgramView& p) const;
  // All of them; or so many lines that the slow ones and the chosen one come first, and how many more there are last.
  Section ranks(size_t lines = 0) const;
  Section workers(const ProgramView& p) const;
  Section operators(const ProgramView& p) const;
  Section python(const ProgramView& p) const;
  PageLine two_sides(const std::string& a, const std::string& b, LineLook look) const;
  PageLine cut(const std::string& text, LineLook look = LineLook::plain) const {
    return {cut_to_width(text, columns_), look};
  }
  std::string keys() const;

  const std::vector<ProgramView>& programs_;
  const PageStyle& style_;
  const size_t columns_;
};

PageLine Page::two_sides(const std::string& a, const std::string& b, LineLook look) const {
  size_t room = columns_ > display_width(b) + 2 ? columns_ - display_width(b) - 2 : 0;
  constexpr size_t kLeast = 32;  // of the left side, which matters more
  if (room < std::min(display_width(a), kLeast)) return cut(a, look);
  return {left(fitted(a, room, false, style_.utf8), room) + "  " + b, look};
}

std::string rank_of(const ProgramView& p) {
  if (p.rank < 0) return "";
  return "rank " + std::to_string(p.rank) + (p.world_size > 0 ? " of " + std::to_string(p.world_size) : "");
}

// A command without the interpreter in front of a script, and without the directories of the program.
std::string short_command(const std::string& command) {
  auto base = [](const std::string& words) {
    size_t end = std::min(words.find(' '), words.size()), slash = words.rfind('/', end);
    return slash == words.npos ? words : words.substr(slash + 1);
  };
  std::string out = base(command);
  size_t space = out.find(' ');
  bool script = out.starts_with("python") && space != out.npos && out[space + 1] != '-';
  return script ? base(out.substr(space + 1)) : out;
}

std::string rate_text(double rate) {
  if (rate < 0) return "-";
  return rate >= 100 ? format("%.0f/s", rate) : rate >= 1 ? format("%.1f/s", rate) : format("%.3f/s", rate);
}

std::string step_text(double rate) { return rate > 0 ? time_text(i64(1e9 / rate)) : "-"; }

std::vector<PageLine> Page::head(const ProgramView& p) const {
  std::string name = printable(short_command(p.command));
  std::string title = "tprof top  pid " + std::to_string(p.pid);
  if (std::string rank = rank_of(p); !rank.empty()) title += "  " + rank;
  title += "  " + name;
  std::string state = style_.paused ? "PAUSED" : style_.time;
  std::string phase = p.ended ? p.why_ended : p.phase_text;
  if (!phase.empty()) phase[0] = char(toupper(phase[0]));
  std::vector<PageLine> out = {two_sides(title, state, LineLook::strong),
                               cut(printable(phase), p.ended ? LineLook::warning : LineLook::plain)};
  std::string step = "Step " + (p.step < 0 ? "-" : std::to_string(p.step)) + "  " + rate_text(p.rate) + "  " +
                     step_text(p.rate) + " a step";
  if (p.mean_rate > 0) step += "  mean " + rate_text(p.mean_rate);
  std::string machine;
  if (p.cpu >= 0) machine += "CPU " + format("%.0f %%", 100 * p.cpu);
  if (p.rss >= 0) machine += (machine.empty() ? "" : "  ") + ("RSS " + bytes_text(p.rss));
  out.push_back(two_sides(step, machine, LineLook::plain));
  std::string memory;
  for (const live::MemoryView& m : p.memory) {
    memory += (memory.empty() ? "Tensors  " : "  ") + m.device + " " + bytes_text(m.allocated) + ", at most " +
              bytes_text(m.peak);
    if (m.reserved) memory += " of " + bytes_text(m.reserved) + " reserved";
  }
  if (!memory.empty()) out.push_back(cut(memory));
  if (!p.stopped.empty())
    out.push_back(cut("Recording has stopped for good: " + p.stopped, LineLook::warning));
  else if (p.dropped)
    out.push_back(cut(std::to_string(p.dropped) + " events were not recorded", LineLook::warning));
  if (p.lost_windows)
    out.push_back(cut(std::to_string(p.lost_windows) + (p.lost_windows == 1 ? " window was" : " windows were") +
                      " over and written before all of it could be read here"));
  if (p.overtaken)
    out.push_back(cut("The ring of flight mode went past what was not read yet, " + std::to_string(p.overtaken) +
                      (p.overtaken == 1 ? " time" : " times")));
  if (p.overflowed) out.push_back(cut("The last step holds too much to be summed up as a whole"));
  return out;
}

Section Page::time_of(const ProgramView& p) const {
  const live::StepView& s = p.recent;
  Section out;
  if (!s.steps) {
    out.lines = {cut("Time of a step", LineLook::title),
                 cut(p.phase == Phase::active ? "  no whole step has been recorded so far"
                                              : "  no step was recorded so far")};
    return out;
  }
  std::string title = s.steps == 1
                          ? "Time of step " + std::to_string(s.last)
                          : "Time of a step, mean of " + std::to_string(s.first) + " to " + std::to_string(s.last);
  title += ": " + time_text(llround(s.ns));
  if (s.age_ns > kOld_ns) title += ", " + format("%.0f s ago", double(s.age_ns) / 1e9);
  out.lines.push_back(cut(title, LineLook::title));
  for (u32 c = 0; c < kCategories; c++) {
    if (!s.shown[c]) continue;
    double share = s.ns > 0 ? s.by[c] / s.ns : 0;
    std::string row = "  " + left(category_text(static_cast<Category>(c)), 15) +
                      right(time_text(llround(s.by[c])), kNumber) + right(percent(share), kShort + 1) + "  ";
    size_t used = display_width(row), room = columns_ > used ? std::min<size_t>(columns_ - used, 50) : 0;
    auto length = size_t(llround(std::clamp(share, 0.0, 1.0) * double(room)));
    for (size_t i = 0; i < length; i++) row += style_.utf8 ? "█" : "#";
    out.lines.push_back(cut(row));
  }
  out.least = out.lines.size();
  return out;
}

// "+ 12 %", "x 23.7".
std::string longer_text(double ns, double than_ns) {
  if (than_ns <= 0) return "longer";
  double times = ns / than_ns;
  return times < 2 ? "+ " + format("%.0f %%", 100 * (times - 1)) : "x " + format("%.1f", times);
}

Section Page::ranks(size_t lines) const {
  constexpr size_t kLeast = 4;  // the title, a slow rank, the chosen one, how many more there are
  Section out;
  out.least = kLeast;
  if (programs_.size() < 2) return {};
  bool some = std::any_of(programs_.begin(), programs_.end(), [](auto& p) { return p.rank >= 0; });
  out.lines.push_back(cut("  " + left(some ? "Rank" : "Pid", kShort) + right("Step", kShort) +
                              right("Rate", kShort + 1) + right("A step", kNumber) + right("Own", kNumber) +
                              right("Communic.", kNumber),
                          LineLook::title));
  std::vector<size_t> order(programs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t rows = order.size();
  if (lines >= kLeast && lines <= rows) {
    rows = lines - 2;
    auto rest = std::stable_partition(order.begin(), order.end(), [&](size_t i) { return programs_[i].slow; });
    std::stable_partition(rest, order.end(), [&](size_t i) { return i == style_.chosen; });
  }
  for (size_t at = 0; at < rows; at++) {
    size_t i = order[at];
    const ProgramView& p = programs_[i];
    auto time = [&](double ns) { return p.recent.steps ? time_text(llround(ns)) : std::string("-"); };
    std::string row = (i == style_.chosen ? "> " : "  ") + left(std::to_string(some ? p.rank : i32(p.pid)), kShort) +
                      right(p.step < 0 ? "-" : std::to_string(p.step), kShort) + right(rate_text(p.rate), kShort + 1) +
                      right(time(p.recent.ns), kNumber) + right(time(p.own_ns), kNumber) +
                      right(time(p.recent.by[u32(Category::communication)]), kNumber);
    if (p.slow) row += "  slow: own " + longer_text(p.own_ns, p.next_own_ns);
    if (p.ended) row += "  ended";
    out.lines.push_back(cut(row, p.slow ? LineLook::warning : LineLook::plain));
  }
  if (rows < order.size()) out.lines.push_back(cut("  ... " + std::to_string(order.size() - rows) + " more"));
  return out;
}

Section Page::workers(const ProgramView& p) const {
  if (p.workers.empty()) return {};
  Section out;
  size_t fetching = 0;
  double shares = 0;
  size_t known = 0;
  for (const LoaderView& w : p.workers) {
    fetching += w.part == LoaderPart::fetch;
    if (w.fetching < 0) continue;
    shares += w.fetching;
    known++;
  }
  std::string title = "DataLoader: " + std::to_string(p.workers.size()) +
                      (p.workers.size() == 1 ? " worker, " : " workers, ") + std::to_string(fetching) + " fetching";
  if (known) title += ", " + percent(shares / double(known)) + " of their time";
  out.lines.push_back(cut(title, LineLook::title));
  out.least = 1;
  for (const LoaderView& w : p.workers) {
    std::string row = "  worker " + left(std::to_string(w.worker), 4) + "pid " + left(std::to_string(w.pid), kShort) +
                      left(word_of(w.part), kShort + 2) + left("for " + time_text(w.since_ns), 16);
    if (w.fetching >= 0) row += "fetches " + percent(w.fetching);
    if (w.fetch_ns >= 0) row += ", a batch in " + time_text(w.fetch_ns);
    out.lines.push_back(cut(row));
  }
  return out;
}

Section Page::operators(const ProgramView& p) const {
  Section out;
  auto name = [&](const char* text, OperatorOrder order) {
    return right(style_.order == order ? "[" + std::string(text) + "]" : text, kNumber);
  };
  constexpr size_t kNumbers = 3 * kNumber + kShort + 1;
  size_t room = columns_ > kNumbers + 4 ? columns_ - kNumbers - 2 : 0;
  bool narrow = room < 16;  // only the number by which they are sorted
  auto number = [&](const OperatorView& op) {
    return style_.order == OperatorOrder::self    ? time_text(op.self_ns)
           : style_.order == OperatorOrder::total ? time_text(op.total_ns)
                                                  : std::to_string(op.calls);
  };
  if (narrow) room = columns_ > kNumber + 4 ? columns_ - kNumber - 2 : columns_;
  std::string title = left("Operators, last 5 s recorded", room + 2);
  if (narrow)
    title += style_.order == OperatorOrder::self    ? name("Self", style_.order)
             : style_.order == OperatorOrder::total ? name("Total", style_.order)
                                                    : name("Calls", style_.order);
  else
    title += name("Self", OperatorOrder::self) + right("Share", kShort + 1) + name("Total", OperatorOrder::total) +
             name("Calls", OperatorOrder::calls);
  out.lines.push_back(cut(title, LineLook::title));
  for (const OperatorView& op : sorted_operators(p, style_.order)) {
    std::string row = "  " + left(fitted(printable(op.name), room, false, style_.utf8), room);
    if (narrow)
      row += right(number(op), kNumber);
    else
      row += right(time_text(op.self_ns), kNumber) +
             right(share_of(double(op.self_ns), double(p.operators_self_ns)), kShort + 1) +
             right(time_text(op.total_ns), kNumber) + right(std::to_string(op.calls), kNumber);
    out.lines.push_back(cut(row));
  }
  if (out.lines.size() == 1) out.lines.push_back(cut("  none was recorded so far"));
  return out;
}

Section Page::python(const ProgramView& p) const {
  Section out;
  if (!p.why_no_lines.empty())
    return {{cut("Lines of Python: no samples, " + printable(p.why_no_lines), LineLook::title)}, 1};
  if (p.lines.empty()) return {};
  constexpr size_t kNumbers = 2 * (kShort + 1);
  size_t room = columns_ > kNumbers + 4 ? columns_ - kNumbers - 2 : columns_;
  out.lines.push_back(cut(left("Lines of Python, " + std::to_string(p.samples) + " samples", room + 2) +
                              right("[Self]", kShort + 1) + right("Total", kShort + 1),
                          LineLook::title));
  for (const SampledLine& line : p.lines) {
    std::string place = printable(line.file) + ":" + (line.line < 0 ? "?" : std::to_string(line.line)) + " ";
    std::string function = printable(line.function);
    size_t for_function = std::min(display_width(function), room / 3);
    std::string text = fitted(place, room - for_function, true, style_.utf8);
    text += fitted(function, room > display_width(text) ? room - display_width(text) : 0, false, style_.utf8);
    out.lines.push_back(cut("  " + left(text, room) +
                            right(share_of(double(line.self), double(p.samples)), kShort + 1) +
                            right(share_of(double(line.total), double(p.samples)), kShort + 1)));
  }
  return out;
}

std::string Page::keys() const {
  std::string out = "q quit  s self  t total  c calls  p pause";
  if (programs_.size() > 1) out += "  n next rank";
  return out;
}

// How many lines of each section are shown, in `room` lines.
std::vector<size_t> shares_of(const std::vector<Section>& sections, const std::vector<size_t>& by_weight, size_t room) {
  std::vector<size_t> out(sections.size(), 0);
  auto grow = [&](size_t s, size_t to) {
    size_t want = std::min(to, sections[s].lines.size());
    size_t more = want > out[s] ? std::min(want - out[s], room) : 0;
    out[s] += more;
    room -= more;
  };
  for (size_t s : by_weight)
    if (s == by_weight[0] || std::min(sections[s].least, sections[s].lines.size()) <= room) grow(s, sections[s].least);
  for (bool more = true; more && room;) {  // a line at a time for each that has any
    size_t before = room;
    for (size_t s : by_weight)
      if (out[s]) grow(s, out[s] + 1);
    more = room < before;
  }
  return out;
}

std::vector<PageLine> Page::lines() {
  std::vector<PageLine> out;
  if (programs_.empty()) {
    out = {two_sides("tprof top", style_.time, LineLook::strong), cut(printable(style_.waits))};
  } else {
    constexpr size_t kRanks = 1;
    const ProgramView& p = programs_[std::min(style_.chosen, programs_.size() - 1)];
    out = head(p);
    std::vector<Section> sections = {time_of(p), ranks(), workers(p), operators(p), python(p)};
    std::vector<size_t> shares;
    if (style_.rows && style_.rows < kRowsOfHead) std::swap(out[0], out[kRateLine]);
    size_t taken = out.size() + style_.keys;
    if (style_.rows) {
      size_t room = style_.rows > taken ? style_.rows - taken : 0;
      shares = shares_of(sections, {0, kRanks, 3, 4, 2}, room);
      if (shares[kRanks] && shares[kRanks] < sections[kRanks].lines.size()) sections[kRanks] = ranks(shares[kRanks]);
    } else {
      for (const Section& s : sections) shares.push_back(s.lines.size());
      for (size_t s : {3, 4}) shares[s] = std::min(shares[s], kRowsOfPlainPage + 1);
    }
    size_t used = taken + std::accumulate(shares.begin(), shares.end(), size_t{0});
    size_t shown = size_t(std::count_if(shares.begin(), shares.end(), [](size_t n) { return n > 0; }));
    bool gaps = !style_.rows || used + shown <= style_.rows;
    for (size_t s = 0; s < sections.size(); s++) {
      if (shares[s] && gaps) out.push_back({});
      out.insert(out.end(), sections[s].lines.begin(), sections[s].lines.begin() + i64(shares[s]));
    }
  }
  if (style_.rows) {
    size_t body = style_.rows - (style_.keys && style_.rows > 1);
    out.resize(body);
    if (style_.keys && style_.rows > 1) out.push_back(cut(keys()));
  }
  return out;
}

}  // namespace

std::vector<OperatorView> sorted_operators(const ProgramView& program, OperatorOrder order) {
  std::vector<OperatorView> out = program.operators;
  auto key = [=](const OperatorView& op) {
    return order == OperatorOrder::self ? op.self_ns : order == OperatorOrder::total ? op.total_ns : i64(op.calls);
  };
  std::sort(out.begin(), out.end(), [&](const OperatorView& a, const OperatorView& b) {
    return key(a) != key(b) ? key(a) > key(b) : a.name < b.name;
  });
  return out;
}

const char* word_of(LoaderPart part) {
  switch (part) {
    case LoaderPart::start: return "starts";
    case LoaderPart::wait: return "waits";
    case LoaderPart::fetch: return "fetches";
    case LoaderPart::send: return "sends";
    case LoaderPart::ended: return "has ended";
    default: return "-";
  }
}

std::vector<PageLine> page_of(const std::vector<ProgramView>& programs, const PageStyle& style) {
  return Page(programs, style).lines();
}

}  // namespace tprof
