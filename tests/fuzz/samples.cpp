// The samples beside a recording, damaged in any way: the recording can be read, and what is shown of them be computed.
#include "everything.h"
#include "model/build.h"
#include "record/companion.h"
#include "record/reader.h"
#include "recording_image.h"
#include "scratch.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  static const std::string recorded = fuzz::sampled_recording();
  static const std::string path = scratch.file("host_1.1.tprof", recorded.data(), recorded.size());
  scratch.file(std::filesystem::path(samples_of(path)).filename(), data, size);
  auto recording = Recording::open(path);
  Meta meta = recording->read_meta();
  Model model = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  fuzz::require(!model.events.empty(), "the recording is read whatever lies beside it");
  fuzz::look_at_samples(model);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  static const std::string samples = fuzz::rich_samples();
  return fuzz::mutate_recording(data, size, max_size, seed, samples);
}
