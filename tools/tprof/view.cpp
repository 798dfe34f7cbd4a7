// `tprof view`: becomes tprof-view (tools/view), which serves the pages of a directory. It runs `tprof page` for each
// of them, in a process of its own.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <system_error>

#include "base/confined.h"
#include "base/error.h"
#include "base/memory.h"
#include "command.h"
#include "exit_codes.h"
#include "kineto/gzip.h"
#include "record/regular_file.h"
#include "report.h"
#include "report/table.h"
#include "run/program_file.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

struct ViewArguments {
  std::vector<std::string> directory;
  std::string port;
  bool open = false;
};

int view(const ViewArguments& arguments) {
  require_page();
  const std::string& directory = arguments.directory[0];
  constexpr u32 kHighestPort = 65535;
  if (!arguments.port.empty() && number_of("--port", arguments.port) > kHighestPort)
    throw Error(Fault::usage,
                "--port " + arguments.port + " is no port: they go up to " + std::to_string(kHighestPort));
  std::error_code why;
  std::string whole = fs::canonical(directory, why).string();
  if (why) throw Error(Fault::unreadable, directory + ": cannot be served: " + why.message());
  if (!fs::is_directory(whole, why))
    throw Error(Fault::usage, directory + ": is no directory; tprof report shows a file");
  std::string program = find_program_beside("view", "tprof-view");
  if (program.empty())
    throw Error(Fault::unreadable,
                "tprof-view is missing, which serves the pages: it belongs beside this tprof, as "
                "meson install puts it; tprof report writes a page as a file");
  std::string port = arguments.port.empty() ? "-" : arguments.port, self = own_path();
  execl(program.c_str(), program.c_str(), self.c_str(), port.c_str(), arguments.open ? "open" : "-", whole.c_str(),
        nullptr);
  throw Error(Fault::unreadable, program + " cannot be started: " + strerror(errno));
}

struct PageArguments {
  std::string below, parts;
};

// As Pages::start() of tools/view writes them: run, worker, span and path of each, with a zero byte behind each field.
std::vector<Input> traces_from(std::istream& in) {
  std::vector<Input> out;
  for (Input one; std::getline(in, one.run, '\0') && std::getline(in, one.worker, '\0') &&
                  std::getline(in, one.span, '\0') && std::getline(in, one.path, '\0');)
    out.push_back(one);
  return out;
}

// What a trace may cost, whoever wrote it. The server goes on without this process.
void bound_costs() {
  constexpr unsigned kLongest_s = 15 * 60;
  constexpr u64 kLargest = u64(16) << 30;  // of the page, and of a trace when it is unpacked
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kLongest_s);
  lower_limit(RLIMIT_FSIZE, kLargest);
  if (u64 memory = memory_here()) lower_limit(RLIMIT_AS, memory / 2);
  kineto::unpack_at_most(kLargest);
  std::ofstream("/proc/self/oom_score_adj") << 500;  // rather this process than others
}

Error too_much_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  return Error(Fault::unreadable, "the page takes more memory than the " + bytes_text(i64(limit.rlim_cur)) +
                                      " that making it may take, at most half of what this machine or container has; "
                                      "tprof report has no limit");
}

int page(const PageArguments& arguments) try {
  bound_costs();
  Inputs inputs(traces_from(std::cin));
  read_only_below(arguments.below);
  int code = serve_report(inputs, arguments.parts, [](std::string_view piece) {
    if (fwrite(piece.data(), 1, piece.size(), stdout) != piece.size() || fflush(stdout) != 0)
      throw Error(Fault::unreadable,
                  std::string("there is no room for the page in the directory for temporary files: ") +
                      strerror(errno));
  });
  if (code == kExitUnreadable) complain("nothing could be read, so there is no page");
  return code;
} catch (const std::bad_alloc&) {
  throw too_much_memory();
} catch (const std::system_error& e) {
  if (e.code() != std::errc::resource_unavailable_try_again) throw;
  throw Error(Fault::unreadable,
              "the page needs a thread that cannot be started, for want of memory or of processes (ulimit -u)");
}

}  // namespace

Action declare_view(Arguments& arguments) {
  auto a = std::make_shared<ViewArguments>();
  arguments.value("--port", "", "N", "port on 127.0.0.1, 0 for any; default: the first that is free from 6006 on",
                  a->port);
  arguments.toggle("--open", "", "open it in a browser: $BROWSER, or xdg-open", a->open);
  arguments.operands("LOGDIR", "a directory with traces; its subdirectories are the runs", 1, 1, a->directory);
  return [a] { return view(*a); };
}

Action declare_page(Arguments& arguments) {
  auto a = std::make_shared<PageArguments>();
  arguments.value("--below", "", "DIR", "read files of this directory only", a->below);
  arguments.value("--parts", "", "ADDRESS", "where the page finds its parts", a->parts);
  return [a] { return page(*a); };
}

}  // namespace tprof
