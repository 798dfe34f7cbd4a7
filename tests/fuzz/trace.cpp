// A trace, as other programs write them or as they arrive damaged: read it, and make of it all that tprof shows.
#include "base/error.h"
#include "everything.h"
#include "json_mutator.h"
#include "kineto/read/read.h"
#include "scratch.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  std::string path = scratch.file("worker.1.pt.trace.json", data, size);
  try {
    PluginTrace plugin;
    Model model = kineto::read_trace(path, &plugin);
    fuzz::look_at_everything(model, plugin);
  } catch (const Error& refused) {
    fuzz::require(*refused.what() != 0, "a trace that is refused is refused with a reason");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
