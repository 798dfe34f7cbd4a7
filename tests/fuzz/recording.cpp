// A recording, damaged in any way: its traces can be read, and everything that is shown of them be computed.
#include "base/error.h"
#include "convert/convert.h"
#include "everything.h"
#include "kineto/read/read.h"
#include "record/reader.h"
#include "recording_image.h"
#include "scratch.h"

using namespace tprof;

namespace {

void convert_and_look(const fuzz::Scratch& scratch, const std::string& recording, u64 begin) {
  ConvertOptions options;
  options.use_gzip = false;
  options.begin = begin;
  options.out_dir = scratch.path("traces");
  options.force = true;
  options.max_events_per_span = 10'000;
  std::vector<std::string> written;
  options.on_written = [&](const Model& model, const std::string& path) {
    fuzz::look_at_everything(model, PluginTrace());
    written.push_back(path);
  };
  try {
    convert_recording(recording, options);
  } catch (const Error&) {  // this part cannot be read, or nothing could be written
  }
  for (const std::string& path : written) {
    try {
      PluginTrace plugin;
      Model read = kineto::read_trace(path, &plugin);
      fuzz::look_at_everything(read, plugin);
    } catch (const Error& refused) {
      fuzz::require(false, std::string("a trace that was written can be read: ") + refused.what());
    }
  }
  std::filesystem::remove_all(options.out_dir);
  std::filesystem::create_directory(options.out_dir);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  std::string path = scratch.file("host_1.1.tprof", data, size);
  try {
    for (u64 begin : recordings_in(path)) convert_and_look(scratch, path, begin);
  } catch (const Error& refused) {
    fuzz::require(*refused.what() != 0, "a recording that is refused is refused with a reason");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  static const std::string seeds[] = {fuzz::rich_recording(false), fuzz::rich_recording(true),
                                      fuzz::forged_recording()};
  return fuzz::mutate_recording(data, size, max_size, seed, seeds[seed % std::size(seeds)]);
}
