#include "run/counts.h"

#include <map>

#include "kineto/ledger.h"

namespace tprof {
namespace {

// What was counted in the traces of one process. Traces of a flush are skipped: their steps are in other traces too.
class ProcessCount {
 public:
  void add(const Json& ledger) {
    if (ledger["span"].value("kind", "") == "flush") return;
    Counted counted = kineto::read_counted(ledger);
    if (counted.before_training) {
      before_ += counted;
      return;
    }
    // A step that is too large for one part continues in the next one, and counts once.
    const Json& numbers = ledger["step"]["steps"];
    if (numbers.is_array() && numbers.size() == 2) {
      if (counted.steps && numbers[0] == last_) counted.steps--;
      last_ = numbers[1];
    }
    all_ += counted;
    known_ = true;
  }
  bool has_none() const {
    return !all_.steps && !all_.of(StretchKind::evaluation).count && !all_.of(StretchKind::inference).count &&
           !before_.steps;
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

// If the processes differ, the details are left to `tprof info`. A process without steps, such as the
// parent of those that train, is not compared.
std::string counted_in(const std::vector<NewTrace>& written) {
  std::map<std::string, ProcessCount> processes;
  for (const NewTrace& trace : written) {
    const TraceSummary& s = trace.summary;
    if (!s.ledger["step"].contains("counted")) continue;
    std::string host = s.head.value("host_name", "");
    processes[host + " " + json_line(s.ledger["span"]["pid"])].add(s.ledger);
  }
  std::map<std::string, size_t> texts;  // of how many processes each is
  for (const auto& [process, count] : processes)
    if (!count.has_none()) texts[count.text()]++;
  if (texts.empty())
    for (const auto& [process, count] : processes) texts[count.text()]++;
  if (texts.size() != 1) return texts.empty() ? "" : "the processes differ in their steps, see tprof info";
  const auto& [text, same] = *texts.begin();
  size_t all = processes.size();
  if (all == 1 || text.empty()) return text;
  return (same == all ? "in each of " : "in " + std::to_string(same) + " of ") + std::to_string(all) + " processes " +
         text;
}

}  // namespace tprof
