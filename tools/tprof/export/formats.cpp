#include "export/format.h"
#include "export/memory_viz.h"
#include "export/speedscope.h"
#include "export/tables.h"

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

std::string to_memory_viz(const Input&, const Model& model, kineto::OutputFile& file, u64& left_out) {
  MemoryVizCounts counts = write_memory_viz(model, file);
  std::string said = count_of(counts.allocations, "allocation") + ", " + count_of(counts.releases, "release") + ", " +
                     count_of(counts.alive, "block") + " at the end";
  for (size_t i = 0; i < counts.devices.size(); i++)
    if (!counts.devices[i].empty()) said += "; " + counts.devices[i] + " is device " + std::to_string(i);
  if (counts.placeless) said += "; left out, without an address: " + count_of(counts.placeless, "event");
  if (counts.out_of_memory) said += "; left out, out of memory: " + count_of(counts.out_of_memory, "event");
  if (counts.overlapping) said += "; left out at the end, in another block: " + count_of(counts.overlapping, "block");
  left_out += counts.placeless + counts.overlapping;
  return said;
}
constexpr FileFormat kMemoryViz = {".memory.pickle", to_memory_viz};

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> kFormats = {
      {"speedscope", "flame charts of threads, streams of GPUs and samples, for https://www.speedscope.app",
       "a file *.json for one trace, or a directory (default: the current one)",
       [](Inputs& inputs, const std::string& out) { return write_files(inputs, out, kSpeedscope); }},
      {"memory_viz", "allocations and releases, for https://pytorch.org/memory_viz",
       "a file *.pickle for one trace, or a directory (default: the current one)",
       [](Inputs& inputs, const std::string& out) { return write_files(inputs, out, kMemoryViz); }},
      {"parquet", "tables in hive partitions by job and rank, for DuckDB, pyarrow, Spark ..., with views",
       "a new directory",
       [](Inputs& inputs, const std::string& out) { return write_tables(inputs, out, dataset::parquet_store); }},
      {"sqlite", "the same tables and views in a database", "a new file",
       [](Inputs& inputs, const std::string& out) { return write_tables(inputs, out, dataset::sqlite_store); }},
  };
  return kFormats;
}

}  // namespace tprof
