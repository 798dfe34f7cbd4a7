#include "hang/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "hang/page.h"
#include "input/programs.h"
#include "model/job.h"
#include "record/regular_file.h"
#include "stack/text.h"

namespace tprof::hang {
namespace {

constexpr char kReportMark[] = ".hang";
constexpr int kTimes = 3;
constexpr size_t kMostProcesses = 32;  // the program and its data-loader workers
// In the log directory: the last verdict, as "<ns of CLOCK_REALTIME> <pid> <word>", for the other ranks of the job.
constexpr char kVerdictFile[] = "hang.verdict";

// The file of the verdict, locked: whoever comes second waits for the first one, some seconds.
class VerdictFile {
 public:
  explicit VerdictFile(const std::string& directory)
      : fd_(open_regular(directory + "/" + kVerdictFile, O_RDWR | O_CREAT)) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~VerdictFile() { close(fd_); }
  VerdictFile(const VerdictFile&) = delete;

  // The word if it was written since then; else nothing.
  std::string since(u64 ns, int& pid) const {
    char text[64] = {}, word[32] = {};
    unsigned long long at = 0;
    bool read = pread(fd_, text, sizeof text - 1, 0) > 0 && sscanf(text, "%llu %d %31[a-z_]", &at, &pid, word) == 3;
    return read && at >= ns ? word : "";
  }
  void put(const std::string& word, int pid) const {
    (void)!ftruncate(fd_, 0);
    std::string text = std::to_string(clock_ns(CLOCK_REALTIME)) + " " + std::to_string(pid) + " " + word + "\n";
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

Judged look(const std::string& directory) try {
  Gathered found = gather(directory, "");
  return {word_of(found.finding.verdict), page_of(found, 0, style()), true};
} catch (const Error& e) {
  return {word_of(Verdict::unknown), "Cannot tell, because of this: " + printable(e.what()) + "\n", true};
}

class Report {
 public:
  Report(const Followed& program, u32 number) : program_(program) {
    std::filesystem::path path = program.path();
    path_ = path.replace_extension().string() + kReportMark + std::to_string(number) + ".txt";
    fd_ = open_regular(path_, O_WRONLY | O_CREAT | O_TRUNC);
  }
  ~Report() { close(fd_); }
  Report(const Report&) = delete;

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
      } catch (const Error& e) {
        add("\n" + printable(e.what()) + "\n");
      }
    if (pids.size() > kMostProcesses)
      add("\n" + std::to_string(pids.size() - kMostProcesses) + " more processes are left out\n");
  }

 private:
  void add(const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      ssize_t n = write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Error(Fault::unreadable, path_ + ": cannot be written: " + strerror(errno));
      done += size_t(n);
    }
  }

  const Followed& program_;
  std::string path_;
  int fd_ = -1;
};

}  // namespace

bool is_report_name(const std::string& name) {
  size_t mark = name.rfind(kReportMark);
  size_t number = mark + sizeof kReportMark - 1;
  return mark != name.npos && name.ends_with(".txt") && number + 4 < name.size() &&
         name.find_first_not_of("0123456789", number) == name.size() - 4;
}

Judged judge(const Followed& program, u64 since_ns) {
  std::string directory = std::filesystem::path(program.path()).parent_path().string();
  std::optional<VerdictFile> file;
  try {
    file.emplace(directory);
  } catch (const Error&) {
    return look(directory);  // the directory may not be written to
  }
  int pid = 0;
  if (std::string word = file->since(since_ns, pid); !word.empty())
    return {word, "The verdict, " + word + ", stands in the file of process " + std::to_string(pid) + ".\n", false};
  Judged out = look(directory);
  file->put(out.verdict, program.pid());
  return out;
}

std::string write_report(const Followed& program, const Still& still, const Judged& judged, u32 number,
                         const std::function<void()>& meanwhile) {
  Report report(program, number);
  report.head(still, judged);
  meanwhile();
  for (int time = 0; time < kTimes && !program.process_ended(); time++) {
    timespec pause{1, 0};
    if (time) nanosleep(&pause, nullptr);
    report.stacks(time);
  }
  return report.path();
}

}  // namespace tprof::hang
