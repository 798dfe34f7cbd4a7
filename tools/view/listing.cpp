#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/types.h"
#include "json/json.h"
#include "request.h"

namespace tprof::view {
namespace {

constexpr int kDeepest = 32;                // levels of directories
constexpr size_t kMostEntries = 2'000'000;  // of all directories
constexpr char kRecording[] = ".tprof";

class Walk {
 public:
  explicit Walk(Listing& out) : out_(out) {
    int fd = open(out.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
      out.notes.push_back(out.directory + ": cannot be read: " + strerror(errno));
    else
      enter(fd, ".", 0);
    say(links_, "symbolic link is", "symbolic links are", "not followed");
    say(other_json_, "other file *.json[.gz] is", "other files *.json[.gz] are",
        "not shown, since only the names *.pt.trace.json[.gz] are known to be traces; tprof report reads them");
    say(special_, "entry is", "entries are", "left alone: neither directories nor regular files");
    say(unread_, "directory is", "directories are", "not shown, since they cannot be read or lie too deep");
    if (entries_ > kMostEntries)
      out.notes.push_back("only the first " + std::to_string(kMostEntries) + " entries of directories were looked at");
  }

 private:
  // Takes the descriptor.
  void enter(int fd, const std::string& run, int depth) {
    std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd), closedir);
    if (!directory) {
      close(fd);
      unread_++;
      return;
    }
    std::map<std::string, std::vector<kineto::NamedTrace>> workers;
    std::vector<std::string> below;
    while (const dirent* entry = readdir(directory.get())) {
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entries_++ >= kMostEntries) break;
      mode_t kind = kind_of(fd, *entry);
      if (S_ISDIR(kind))
        below.push_back(name);
      else if (S_ISREG(kind))
        add(run, name, workers);
      else
        (S_ISLNK(kind) ? links_ : special_)++;
    }
    kineto::TraceList list;
    kineto::add_run(run, workers, list);
    out_.traces.insert(out_.traces.end(), list.files.begin(), list.files.end());
    out_.notes.insert(out_.notes.end(), list.notes.begin(), list.notes.end());
    for (const std::string& name : below) {
      int inner = depth < kDeepest ? openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
      if (inner < 0)
        unread_++;
      else
        enter(inner, run == "." ? name : run + "/" + name, depth + 1);
    }
  }

  static mode_t kind_of(int directory, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN) return DTTOIF(entry.d_type);
    struct stat s;
    return fstatat(directory, entry.d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 ? s.st_mode : 0;
  }

  void add(const std::string& run, const std::string& name,
           std::map<std::string, std::vector<kineto::NamedTrace>>& workers) {
    std::string worker, stamp;
    if (kineto::split_trace_name(name, worker, stamp))
      workers[worker].push_back({stamp, out_.directory + "/" + (run == "." ? "" : run + "/") + name});
    else if (name.ends_with(kRecording) && name.size() > strlen(kRecording))
      out_.recordings[run].push_back(name);
    else
      other_json_ += kineto::ends_as_json(name);
  }

  void say(size_t count, const char* one, const char* many, const char* what) {
    if (count) out_.notes.push_back(std::to_string(count) + " " + (count == 1 ? one : many) + " " + what);
  }

  Listing& out_;
  size_t entries_ = 0, links_ = 0, special_ = 0, unread_ = 0, other_json_ = 0;
};

std::string name_of(const std::string& run, const std::string& directory) {
  return run == "." ? directory.substr(directory.rfind('/') + 1) : run;
}

}  // namespace

Listing list_directory(const std::string& directory) {
  Listing out{.directory = directory};
  Walk walk(out);
  return out;
}

std::vector<kineto::TraceFile> chosen(const Listing& listing, const std::string& run,
                                      const std::optional<std::string>& worker,
                                      const std::optional<std::string>& span) {
  std::vector<kineto::TraceFile> out;
  for (const kineto::TraceFile& trace : listing.traces)
    if (trace.run == run && (!worker || trace.worker == *worker) && (!span || trace.span == *span))
      out.push_back(trace);
  for (kineto::TraceFile& trace : out) trace.run = name_of(run, listing.directory);
  return out;
}

std::string json_of(const Listing& listing) {
  std::map<std::string, Json> runs;
  auto run_of = [&](const std::string& run) -> Json& {
    Json& out = runs[run];
    if (out.is_null())
      out = {{"name", name_of(run, listing.directory)},
             {"run", percent_encoded(run)},
             {"workers", Json::array()},
             {"recordings", Json::array()}};
    return out;
  };
  for (const kineto::TraceFile& trace : listing.traces) {
    Json& workers = run_of(trace.run)["workers"];
    std::string worker = percent_encoded(trace.worker);
    if (workers.empty() || workers.back()["worker"] != worker)
      workers.push_back({{"name", trace.worker}, {"worker", worker}, {"spans", Json::array()}});
    workers.back()["spans"].push_back(trace.span);
  }
  for (const auto& [run, names] : listing.recordings) run_of(run)["recordings"] = names;
  Json out = {{"directory", listing.directory}, {"notes", listing.notes}, {"runs", Json::array()}};
  for (auto& [_, run] : runs) out["runs"].push_back(std::move(run));
  return json_line(out);
}

}  // namespace tprof::view
