// The page of `tprof report`, for `tprof run --report` and for `tprof view`.
#pragma once
#include <string>

#include "input/inputs.h"
#include "report/page.h"

namespace tprof {

// Throws Error(Fault::usage) if this tprof was built without the page.
void require_page();

// Writes the page about the traces and recordings in a directory. Returns the line that says where it is. Throws Error.
std::string write_report(const std::string& directory, const std::string& out);

// The page about `inputs` with everything in it, as Page::serve() gives it. Returns the exit code; with
// kExitUnreadable nothing was put. Throws Error.
int serve_report(Inputs& inputs, const std::string& parts, const Page::Put& put);

}  // namespace tprof
