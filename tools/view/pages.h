// The pages that are served: each is made once by a process of its own (`tprof page`), which reads the traces, and is
// kept as a nameless file until newer ones need its room. A trace that brings its reader down costs a page, not the
// server.
#pragma once
#include <sys/types.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "listing.h"

namespace tprof::view {

// A descriptor that is closed with its last user.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File();
  File(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Bytes of a file.
struct Stretch {
  std::shared_ptr<const File> file;
  u64 begin = 0, bytes = 0;
};

struct Page {
  std::string policy;  // its Content-Security-Policy
  Stretch html;
  std::vector<Stretch> parts;
  u64 bytes = 0;  // of all of it
};

class Pages {
 public:
  // `tprof`: the path of the program that makes pages. `directory`: the only one below which it may read.
  Pages(std::string tprof, std::string directory);
  ~Pages();  // ends what is being made

  enum class State { ready, waits, failed, too_many };
  struct Answer {
    State state;
    std::shared_ptr<const Page> page = {};  // ready
    std::string why = {};                   // failed: one or more lines
    u64 seconds = 0;                        // waits: since it was first asked for
  };
  // The page of these traces as they are now. Never blocks: who waits asks again.
  Answer ask(const std::vector<kineto::TraceFile>& traces);
  // A page that was given out and is still kept, or nothing.
  std::shared_ptr<const Page> find(u64 number) const;
  // To be called when a child has ended, whoever it was.
  void ended(pid_t pid, int status);

 private:
  struct Wish {
    u64 number = 0;
    u64 asked_ns = 0, done_ns = 0;               // on the monotonic clock
    std::vector<kineto::TraceFile> traces = {};  // until it is started
    pid_t pid = 0;                               // 0: waits for its turn, or has ended
    std::shared_ptr<File> out = {}, said = {};   // of the process
    std::shared_ptr<const Page> page = {};
    std::string why = {};
    bool done() const { return page || !why.empty(); }
  };
  using Wishes = std::map<std::string, Wish>;

  void start_next();
  void start(Wish& wish);
  void keep(const std::string& key);

  const std::string tprof_, directory_;
  const size_t at_once_;
  Wishes wishes_;                  // by the names of their traces, with sizes and times
  std::deque<std::string> queue_;  // those that wait for their turn
  std::list<std::string> kept_;    // those that are done, the one that was used last at the end
  size_t running_ = 0;
  u64 numbers_ = 0;
};

}  // namespace tprof::view
