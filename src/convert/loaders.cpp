#include "convert/loaders.h"

#include <filesystem>

#include "base/directory.h"
#include "base/error.h"
#include "model/loader_load.h"

namespace tprof {
namespace {

constexpr char kSuffix[] = ".tprof";

// In folded files, too. A file that cannot be read is being created or folded now, or belongs to somebody else. Helpers
// run where their program does: recordings of other hosts, of which a directory may hold thousands, are not opened.
std::vector<std::unique_ptr<Recording>> helpers_of(const Recording& recording) {
  const FileHeader& h = recording.header();
  std::filesystem::path own(recording.path());
  std::filesystem::path directory = own.has_parent_path() ? own.parent_path() : std::filesystem::path(".");
  std::string prefix = std::string(h.host) + "_";
  std::vector<std::unique_ptr<Recording>> out;
  for (const std::string& name : names_in(directory.string())) {
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix) || name == own.filename().string()) continue;
    try {
      std::string path = (directory / name).string();
      for (u64 begin : recordings_in(path)) {
        auto helper = Recording::open(path, begin);
        if (!is_helper_of(helper->header(), h.pid, h.created_ns, h.boot_id)) break;
        out.push_back(std::move(helper));
      }
    } catch (const Error&) {
    }
  }
  return out;
}

}  // namespace

void add_loaders(Model& model, Recording& recording, const Meta& meta, const SpanRequest& request) {
  if (recording.header().role == u32(Role::helper)) return;
  load_loaders(model, recording, meta, request, helpers_of(recording));
}

}  // namespace tprof
