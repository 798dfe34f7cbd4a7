// The terminal while `tprof top` has it: alternate screen, keys without echo, no automatic wrap. It is given back as it
// was however the program ends: at the end of the scope, by an exception, and by any signal that ends a process.
// SIGTSTP and SIGCONT (Ctrl-Z, fg) give it back and take it again.
#pragma once
#include <string>
#include <vector>

#include "top/page.h"

namespace tprof {

class Screen {
 public:
  explicit Screen(bool color);
  ~Screen();
  Screen(const Screen&) = delete;

  size_t columns() const { return columns_; }
  size_t rows() const { return rows_; }

  // Waits at most so long. Returns the keys that were pressed, "" if there were none; ends early for a key, and if the
  // size has changed or the program was stopped and goes on, so that the page must be made again.
  std::string wait(int milliseconds);
  // Shows a page of rows() lines. False: the terminal is gone.
  bool draw(const std::vector<PageLine>& lines);

 private:
  void suspend();
  void measure();

  bool color_;
  bool keys_ = true;  // standard input gives some
  size_t columns_ = 80, rows_ = 24;
  std::vector<std::string> shown_;  // by row, with colours; empty: the screen is
};

}  // namespace tprof
