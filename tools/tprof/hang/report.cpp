#include "hang/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "hang/page.h"
#include "hang/subjects.h"
#include "input/programs.h"
#include "model/job.h"
#include "record/regular_file.h"
#include "stack/text.h"

namespace tprof::hang {
namespace {

constexpr char kReportMark[] = ".hang";
constexpr int kTimes = 3;
constexpr size_t kMostProcesses = 32;  // the program and its data-loader workers
constexpr int kPatience_s = 10;        // for another rank's look
// In the log directory: the last verdict, as "<ns of CLOCK_REALTIME> <pid> <word> <job>", for the other ranks of the
// job.
constexpr char kVerdictFile[] = "hang.verdict";

// The file of the verdict, locked: whoever comes second waits for the first one.
class VerdictFile {
 public:
  // Throws Error if it cannot be had: the directory may not be written to, the file belongs to somebody else, or who
  // has the lock does not come to an end.
  explicit VerdictFile(const std::string& directory)
      : fd_(open_regular(directory + "/" + kVerdictFile, O_RDWR | O_CREAT)) {
    struct stat s;
    bool ours = fstat(fd_, &s) == 0 && s.st_uid == geteuid() && s.st_nlink == 1;
    for (int tenth = 0; ours && tenth < 10 * kPatience_s; tenth++) {
      if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
      if (errno != EWOULDBLOCK && errno != EINTR) break;
      usleep(100'000);
    }
    close(fd_);
    throw Error(Fault::unreadable, "the verdict cannot be shared");
  }
  ~VerdictFile() { close(fd_); }
  VerdictFile(const VerdictFile&) = delete;

  // The word if it was written since then, about this job; else nothing.
  std::string since(u64 ns, const std::string& job, int& pid) const {
    char text[1024] = {}, word[32] = {};
    unsigned long long at = 0;
    int end = 0;
    bool read =
        pread(fd_, text, sizeof text - 1, 0) > 0 && sscanf(text, "%llu %d %31[a-z_] %n", &at, &pid, word, &end) == 3;
    return read && at >= ns && at <= clock_ns(CLOCK_REALTIME) && text + end == job + "\n" ? word : "";
  }
  void put(const std::string& word, int pid, const std::string& job) const {
    (void)!ftruncate(fd_, 0);
    std::string text =
        std::to_string(clock_ns(CLOCK_REALTIME)) + " " + std::to_string(pid) + " " + word + " " + job + "\n";
    (void)!pwrite(fd_, text.data(), text.size(), 0);
  }

 private:
  int fd_;
};

std::string now_text() {
  char text[32];
  time_t now = time(nullptr);
  tm local{};
  strftime(text, sizeof text, "%F %T %z", localtime_r(&now, &local));
  return text;
}

TextStyle style() {
  TextStyle plain;
  plain.width = 0;
  return plain;
}

// Whether this program hangs, or waits for one that does. Who is at work for longer than was allowed is told, but not
// who waits for that.
bool hangs(const Gathered& found, int pid) {
  const Finding& finding = found.finding;
  if (means(finding.verdict) != Means::slow) return true;
  auto is_program = [&](u32 rank) { return found.job.ranks[rank].process.pid == pid; };
  return std::any_of(finding.culprits.begin(), finding.culprits.end(), is_program);
}

Judged look(const Followed& program, const std::string& directory) try {
  Gathered found = gather(directory, "", program.pid());
  return {word_of(found.finding.verdict), page_of(found, 0, style()), true, hangs(found, program.pid())};
} catch (const std::exception& e) {
  return {word_of(Verdict::unknown), "Cannot tell, because of this: " + printable(e.what()) + "\n", true, true};
}

class Report {
 public:
  Report(const Followed& program, u32 number) : program_(program) {
    std::filesystem::path path = program.path();
    path_ = path.replace_extension().string() + kReportMark + std::to_string(number) + ".txt";
    unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }

  void head(const Still& still, const Judged& judged) {
    const FileHeader& header = program_.recording().header();
    Meta meta = program_.recording().read_meta();
    JobPlace place = place_of(header, meta);
    std::string rank = place.rank < 0 ? "" : ", rank " + std::to_string(place.rank);
    add("Hang of process " + std::to_string(program_.pid()) + rank + " on " + printable(header.host) + ", seen at " +
        now_text() + ": " + (still.collective ? "a collective" : "no step and no operator") + " for " +
        std::to_string(still.ns / 1'000'000'000) + " s.\n" + printable(meta.info["command"]) + "\n\n" + judged.page);
  }

  void stacks(int time) {
    add("\n==== Stacks of all threads, " + std::to_string(time + 1) + " of " + std::to_string(kTimes) + ", at " +
        now_text() + "\n");
    std::vector<int> pids = with_descendants({program_.pid()});
    for (size_t i = 0; i < pids.size() && i < kMostProcesses; i++) try {
        add("\n" + text_of(stacks_of_process(pids[i], Frames::all), 0, style()));
      } catch (const std::exception& e) {
        add("\n" + printable(e.what()) + "\n");
      }
    if (pids.size() > kMostProcesses)
      add("\n" + std::to_string(pids.size() - kMostProcesses) + " more processes are left out\n");
  }

  // So that whoever waits for it sees that nothing follows.
  void end() const { add("\n==== End of the report\n"); }

 private:
  void add(const std::string& text) const { add_to_report(path_, text); }

  const Followed& program_;
  std::string path_;
};

}  // namespace

bool is_report_name(const std::string& name) {
  size_t mark = name.rfind(kReportMark);
  size_t number = mark + sizeof kReportMark - 1;
  return mark != name.npos && name.ends_with(".txt") && number + 4 < name.size() &&
         name.find_first_not_of("0123456789", number) == name.size() - 4;
}

Judged judge(const Followed& program, bool is_rank, u64 since_ns) {
  std::string directory = std::filesystem::path(program.path()).parent_path().string();
  if (!is_rank) return look(program, directory);
  std::optional<VerdictFile> file;
  try {
    file.emplace(directory);
  } catch (const Error&) {
    return look(program, directory);
  }
  // Who may not look at the processes of other ranks learns less than they do of themselves.
  std::string job = job_of(program.pid());
  int pid = 0;
  std::string before = file->since(since_ns, job, pid);
  bool known = !before.empty() && before != word_of(Verdict::unknown) && before != word_of(Verdict::out_of_sight);
  if (known)
    return {before, "The verdict, " + before + ", stands in the file of process " + std::to_string(pid) + ".\n", false,
            true};
  Judged out = look(program, directory);
  out.by_us = before.empty();
  if (out.hangs) file->put(out.verdict, program.pid(), job);
  return out;
}

std::string write_report(const Followed& program, const Still& still, const Judged& judged, u32 number) {
  Report report(program, number);
  report.head(still, judged);
  for (int time = 0; time < kTimes && !program.process_ended(); time++) {
    timespec pause{1, 0};
    if (time) nanosleep(&pause, nullptr);
    report.stacks(time);
  }
  report.end();
  return report.path();
}

void add_to_report(const std::string& path, const std::string& text) {
  try {
    int fd = open_regular(path, O_WRONLY | O_CREAT | O_APPEND);
    (void)!write(fd, text.data(), text.size());  // the disk may be full
    close(fd);
  } catch (const Error&) {  // somebody put something else there, or nothing may be written: the trace tells the rest
  }
}

}  // namespace tprof::hang
