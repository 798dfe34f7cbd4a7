#include "export/format.h"
#include "export/speedscope.h"

namespace tprof {
namespace {

std::string to_speedscope(const Input& input, const Model& model, kineto::OutputFile& file, u64& left_out) {
  SpeedscopeCounts counts = write_speedscope(model, input.worker + ", span " + input.span, file);
  std::string said = count_of(counts.profiles, "profile") + ", " + count_of(counts.ranges, "range");
  if (counts.samples) said += ", " + count_of(counts.samples, "sample");
  if (counts.instants) said += "; left out, since they have no duration: " + count_of(counts.instants, "NVTX mark");
  if (counts.crossing) said += "; left out, since they cross too many others: " + count_of(counts.crossing, "range");
  left_out += counts.crossing;
  return said;
}
constexpr FileFormat kSpeedscope = {".speedscope.json", to_speedscope};

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> kFormats = {
      {"speedscope", "flame charts of threads, streams of GPUs and samples, for https://www.speedscope.app",
       "a file *.json for one trace, or a directory",
       [](Inputs& inputs, const std::string& out) { return write_files(inputs, out, kSpeedscope); }},
  };
  return kFormats;
}

}  // namespace tprof
