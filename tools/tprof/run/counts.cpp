#include "run/counts.h"

#include <map>
#include <set>

#include "kineto/ledger.h"

namespace tprof {
namespace {

using Json = nlohmann::ordered_json;

// What was counted in the traces of one process. Traces of a flush are skipped: their steps are in other traces too.
class ProcessCount {
 public:
  void add(const Json& ledger) {
    Json span = ledger.value("span", Json::object());
    if (span.value("kind", "") == "flush") return;
    Counted counted = kineto::read_counted(ledger);
    if (counted.before_training) {
      before_ += counted;
      return;
    }
    // A step that is too large for one part continues in the next one, and counts once.
    Json numbers = ledger.value("step", Json::object()).value("steps", Json::array());
    if (numbers.size() == 2 && counted.steps && numbers[0] == last_) counted.steps--;
    if (numbers.size() == 2) last_ = numbers[1];
    all_ += counted;
    known_ = true;
  }
  // "" when there is nothing to say.
  std::string text() const {
    std::string out = known_ ? counted_text(all_) : "";
    if (before_.steps) out += (out.empty() ? "" : "; ") + counted_text(before_);
    return out;
  }

 private:
  Counted all_, before_;
  Json last_;
  bool known_ = false;
};

}  // namespace

// If the processes differ, the details are left to `tprof info`. One without any steps, such as the parent of those
// that train, differs from none.
std::string counted_in(const std::vector<NewTrace>& written) {
  std::map<std::string, ProcessCount> processes;
  for (const NewTrace& trace : written) {
    const TraceSummary& s = trace.summary;
    if (!s.ledger.is_object() || !s.ledger.contains("step") || !s.ledger["step"].contains("counted")) continue;
    std::string host = s.head.is_object() ? s.head.value("host_name", "") : "";
    processes[host + " " + s.ledger.value("span", Json::object()).value("pid", Json()).dump()].add(s.ledger);
  }
  std::set<std::string> texts;
  size_t counting = 0;
  for (const auto& [process, count] : processes)
    if (std::string text = count.text(); !text.empty()) texts.insert(text), counting++;
  if (texts.size() != 1) return texts.empty() ? "" : "the processes differ in their steps, see tprof info";
  if (processes.size() == 1) return *texts.begin();
  bool all = counting == processes.size();
  return (all ? "in each of " : "in " + std::to_string(counting) + " of ") + std::to_string(processes.size()) +
         " processes " + *texts.begin();
}

}  // namespace tprof
