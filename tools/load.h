// What the commands that analyse read: every span of every worker below a path, one at a time.
//
// A directory's traces are used; its recordings only where it has no trace. A file that cannot be read is said on stderr
// and left out.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/plugin_trace.h"
#include "model/trace.h"
#include "report/table.h"

namespace tprof {

struct Span {
  Source source;
  Model model;
  PluginTrace plugin;  // if asked for
};

// Calls `use` for each. Returns kExitPartial if something was left out, else kExitOk; throws Error(kExitUnreadable) if
// nothing could be read at all.
int for_each_span(const std::vector<std::string>& paths, bool plugin, const std::function<void(Span&)>& use);

}  // namespace tprof
