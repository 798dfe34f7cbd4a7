#include "hang/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/plain_file.h"
#include "base/printable.h"
#include "command.h"
#include "hang/page.h"
#include "hang/subjects.h"
#include "input/programs.h"
#include "model/job.h"
#include "stack/text.h"

namespace tprof::hang {
namespace {

constexpr char kReportMark[] = ".hang";
constexpr int kTimes = 3;
constexpr size_t kMostProcesses = 32;  // the program and its data-loader workers
constexpr int kPatience_s = 10;        // for another rank's look
// In the log directory: the last verdict, as "<ns of CLOCK_REALTIME> <pid> <word> <job>", for the other ranks of the
// job. Only their user may open it: whoever can may hold its lock.
constexpr char kVerdictFile[] = "hang.verdict";

// The file of the verdict, locked: whoever comes second waits for the first one.
class VerdictFile {
 public:
  // Throws Error if it cannot be had: the directory may not be written to, somebody else may open the file, or who has
  // the lock does not come to an end.
  explicit VerdictFile(const std::string& directory) {
    mode_t kind;
    std::string path = directory + "/" + kVerdictFile;
    fd_ = open_plain_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT, kind, kPrivateMode);
    std::string why_not = kind ? "it is no regular file" : fd_ < 0 ? strerror(errno) : not_ours();
    if (why_not.empty()) why_not = lock();
    if (why_not.empty()) return;
    if (fd_ >= 0) close(fd_);
    throw Error(Fault::unreadable, path + " is not used (" + why_not + "): this rank has looked by itself");
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
  std::string not_ours() const {
    struct stat s;
    if (fstat(fd_, &s) != 0) return strerror(errno);
    return s.st_uid != geteuid() ? "it belongs to another user"
           : s.st_mode & 077     ? "others may open it"
           : s.st_nlink != 1     ? "it has other names"
                                 : "";
  }
  std::string lock() const {
    for (int tenth = 0; tenth < 10 * kPatience_s; tenth++) {
      if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return "";
      if (errno != EWOULDBLOCK && errno != EINTR) return strerror(errno);
      usleep(100'000);
    }
    return "it has been locked for " + std::to_string(kPatience_s) + " s";
  }

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
  } catch (const Error& e) {
    Judged out = look(program, directory);
    out.page += "\n" + printable(e.what()) + "\n";
    return out;
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

Report::Report(const Followed& program, u32 number) : program_(program) {
  std::filesystem::path path = program.path();
  path_ = path.replace_extension().string() + kReportMark + std::to_string(number) + ".txt";
  unlink(path_.c_str());
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, kUmaskMode);
  if (fd_ < 0) complain(path_ + ": cannot be made: " + strerror(errno));
}

Report::~Report() {
  if (fd_ >= 0) close(fd_);
}

void Report::write(const Still& still, const Judged& judged) {
  add_head(still, judged);
  for (int time = 0; time < kTimes && !program_.process_ended(); time++) {
    timespec pause{1, 0};
    if (time) nanosleep(&pause, nullptr);
    add_stacks(time);
  }
  add("\n==== End of the report\n");  // so that whoever waits for it sees that nothing follows
}

void Report::add_head(const Still& still, const Judged& judged) {
  const FileHeader& header = program_.recording().header();
  Meta meta = program_.recording().read_meta();
  JobPlace place = place_of(header, meta);
  std::string rank = place.rank < 0 ? "" : ", rank " + std::to_string(place.rank);
  add("Hang of process " + std::to_string(program_.pid()) + rank + " on " + printable(header.host) + ", seen at " +
      now_text() + ": " + (still.collective ? "a collective" : "no step and no operator") + " for " +
      std::to_string(still.ns / 1'000'000'000) + " s.\n" + printable(meta.info["command"]) + "\n\n" + judged.page);
}

void Report::add_stacks(int time) {
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

void Report::add(const std::string& text) {
  if (fd_ < 0) return;
  struct stat here, ours;
  bool stands = lstat(path_.c_str(), &here) == 0 && fstat(fd_, &ours) == 0 && here.st_dev == ours.st_dev &&
                here.st_ino == ours.st_ino;
  if (stands) {
    (void)!::write(fd_, text.data(), text.size());  // the disk may be full
    return;
  }
  complain(path_ + ": was removed or replaced by something else, so the rest of the report is not written");
  close(fd_);
  fd_ = -1;
}

}  // namespace tprof::hang
