// How long `tprof run` waits when its program has ended: at most --exit-wait seconds, after which traces are written in
// the background. Where a background process would be killed together with this one (as PID 1, in job steps and
// containers), and for the page of --report, it waits until all is written.
#pragma once
#include <functional>
#include <string>

#include "base/types.h"
#include "run/supervise.h"

namespace tprof {

class Patience {
 public:
  // Starts the time. `exit_wait` is in seconds and may be infinite. With `quiet`, nothing is printed while waiting.
  Patience(double exit_wait, Supervisor& supervisor, const std::string& directory, bool quiet, bool page);

  // Waits until done() returns true. False if the time is over or the user does not want to wait (Ctrl-C).
  bool for_traces(const std::function<bool()>& done);

  // Waits for what is said of the traces, of which no more is read than takes some seconds, or for the page, which
  // takes as long as it takes. False if the user does not want to wait. doing(): what is being done.
  bool for_last_word(const std::function<bool()>& done, const std::function<std::string()>& doing);

  const Supervisor& supervisor() const { return supervisor_; }
  bool interrupted() { return supervisor_.interrupted(); }

 private:
  bool wait(const std::function<bool()>& done, double until_ns, const std::function<void(double waited_ns)>& meanwhile);
  void say_why();
  void show_progress(double waited_ns);
  void log(const std::string& doing, double waited_ns);

  Supervisor& supervisor_;
  std::string directory_, why_;
  bool quiet_, logs_, said_why_ = false;
  double start_ns_, end_ns_, shown_ns_ = 0, next_line_ns_;
};

}  // namespace tprof
