// `tprof export`: traces in the file formats of other programs, which export/formats.cpp lists.
#include "base/error.h"
#include "command.h"
#include "export/format.h"

namespace tprof {
namespace {

struct ExportArguments {
  std::vector<std::string> paths;
  std::string to, out;
};

std::string all_names() {
  std::string all;
  for (const ExportFormat& format : export_formats()) all += (all.empty() ? "" : ", ") + std::string(format.name);
  return all;
}

const ExportFormat& format_of(const std::string& name) {
  if (name.empty()) throw Error(Fault::usage, "--to FORMAT is missing; the formats are " + all_names());
  for (const ExportFormat& format : export_formats())
    if (name == format.name) return format;
  throw Error(Fault::usage, "--to '" + name + "' is none of " + all_names());
}

}  // namespace

Action declare_export(Arguments& arguments) {
  auto a = std::make_shared<ExportArguments>();
  std::string what, into;
  std::vector<std::string> names;
  for (const ExportFormat& format : export_formats()) {
    const char* then = what.empty() ? "" : "; ";
    what += then + std::string(format.name) + ": " + format.what;
    into += then + std::string(format.name) + ": " + format.into;
    names.push_back(format.name);
  }
  arguments.choice("--to", "FORMAT", what, names, a->to);
  arguments.value("--output", "-o", "OUT", "where to write; " + into, a->out);
  arguments.operands("PATH", "log directories, traces (torch.profiler's too) or recordings", 1, 0, a->paths);
  return [a] {
    const ExportFormat& format = format_of(a->to);
    Inputs inputs(a->paths);
    return format.write(inputs, a->out);
  };
}

}  // namespace tprof
