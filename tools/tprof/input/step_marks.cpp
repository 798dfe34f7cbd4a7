#include "input/step_marks.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "json/json.h"
#include "kineto/names.h"
#include "model/trace.h"

namespace tprof {
namespace {

// As tprof writes them, one event a line. Neither can stand inside of a name, where quotes are escaped.
const std::string kStepName = std::string(R"("name": ")") + kStepPrefix;
const std::string kInside = '"' + std::string(kineto::kStretchInside) + '"';
constexpr size_t kLongestLine = 64 << 10;  // of a step or stretch; lines of operators with large inputs are passed over

i64 ns_of(const Json& us) { return us.is_number() ? std::llround(us.real() * 1000) : -1; }

}  // namespace

void StepMarks::feed(std::string_view text) {
  size_t end = text.rfind('\n');
  if (end == text.npos) {
    if (rest_.size() + text.size() <= kLongestLine) rest_ += text;
    return;
  }
  size_t first = text.find('\n') + 1;
  rest_ += text.substr(0, std::min(first, kLongestLine));
  for (const std::string& mark : {kStepName, kInside}) {
    look_for(mark, rest_);
    look_for(mark, text.substr(first, end + 1 - first));
  }
  std::string_view open = text.substr(end + 1);
  rest_ = open.substr(0, std::min(open.size(), kLongestLine));
}

void StepMarks::look_for(std::string_view mark, std::string_view lines) {
  for (size_t at = 0; (at = lines.find(mark, at)) != lines.npos;) {
    size_t begin = lines.rfind('\n', at), end = lines.find('\n', at);
    begin = begin == lines.npos ? 0 : begin + 1;
    end = std::min(end, lines.size());
    std::string_view line = lines.substr(begin, end - begin);
    if (line.ends_with(',')) line.remove_suffix(1);
    if (line.size() <= kLongestLine) add(line);
    at = end;
  }
}

void StepMarks::add(std::string_view line) {
  const Json event = bounded_json(line);
  if (event["cat"] != kineto::kUserAnnotation) return;
  i64 begin_ns = ns_of(event["ts"]), dur_ns = ns_of(event["dur"]);
  const Json &name = event["name"], &arguments = event["args"];
  if (begin_ns < 0 || dur_ns < 0 || !name.is_string()) return;
  if (arguments[kineto::kStretch] == kineto::kStretchInside) {
    inside_.push_back(begin_ns);
    return;
  }
  const std::string& text = name.text();
  if (!text.starts_with(kStepPrefix)) return;
  i64 number = 0;
  const char *digits = text.data() + std::string_view(kStepPrefix).size(), *end = text.data() + text.size();
  if (auto [at, error] = std::from_chars(digits, end, number); error == std::errc() && at == end)
    steps_.push_back({number, begin_ns, dur_ns, false, step_cut_of(arguments.value(kineto::kCut, ""))});
}

std::vector<StepMark> StepMarks::take() {
  std::sort(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  for (i64 at : inside_) {
    auto after = std::partition_point(steps_.begin(), steps_.end(), [&](const auto& s) { return s.begin_ns <= at; });
    if (after != steps_.begin() && at < after[-1].begin_ns + after[-1].dur_ns) after[-1].evaluates = true;
  }
  return std::move(steps_);
}

}  // namespace tprof
