// How long `tprof run` stays when its program has ended: at most --exit-wait. What is not written then goes on in the
// background; where that would be killed with us (PID 1, job steps, containers), until all is written.
#pragma once
#include <functional>
#include <string>

#include "base/types.h"
#include "run/supervise.h"

namespace tprof {

class Patience {
 public:
  // The time begins now. `exit_wait` in seconds, may be inf. A quiet one says nothing while it waits.
  Patience(double exit_wait, Supervisor& supervisor, const std::string& directory, bool quiet);

  // Waits until done() says so. False when the time is over or the user wants to go on (Ctrl-C).
  bool for_traces(const std::function<bool()>& done);

  // The same, without a word and for at least a moment.
  bool for_last_word(const std::function<bool()>& done);

  const Supervisor& supervisor() const { return supervisor_; }
  bool interrupted() { return supervisor_.interrupted(); }

 private:
  bool wait(const std::function<bool()>& done, double until_ns, const std::function<void(double waited_ns)>& meanwhile);
  void say_why();
  void show_progress(double waited_ns);

  Supervisor& supervisor_;
  std::string directory_, why_;
  bool quiet_, said_why_ = false;
  double start_ns_, end_ns_, shown_ns_ = 0;
};

}  // namespace tprof
