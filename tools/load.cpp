#include "load.h"

#include <filesystem>

#include "base/error.h"
#include "command.h"
#include "kineto/directory.h"
#include "kineto/read.h"
#include "model/build.h"
#include "trace_file.h"

namespace tprof {
namespace {

using Use = std::function<void(Span&)>;

class Loader {
 public:
  Loader(bool plugin, const Use& use) : plugin_(plugin), use_(use) {}

  void load(const std::string& path) {
    if (is_recording_name(path)) return load_recording(path);
    kineto::TraceList list = kineto::list_traces(path);
    for (const std::string& note : list.notes) complain(note);
    for (const kineto::TraceFile& file : list.files)
      attempt([&] {
        Span span;
        span.source = {file.run, file.worker, file.span};
        span.model = kineto::read_trace(file.path, plugin_ ? &span.plugin : nullptr);
        found(span, file.path);
      });
    if (!list.files.empty()) return;
    for (const std::string& file : list_files(path, is_recording_name)) load_recording(file);
  }

  int finish() const {
    if (!used_ && !failure_.empty()) throw Error(kExitUnreadable, failure_);
    return failure_.empty() ? kExitOk : kExitPartial;
  }
  u64 used() const { return used_; }

 private:
  // What fails is left out and said; alone, it is the command's error.
  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (const Error& e) {
      if (!failure_.empty()) complain(failure_);
      failure_ = e.what();
      return;
    }
  }

  void found(Span& span, const std::string& path) {
    if (u64 lost = span.model.ledger.dropped_sum())
      complain(path + ": " + std::to_string(lost) + " events are not in the figures (tprof check says more)");
    used_++;
    use_(span);
  }

  void load_recording(const std::string& path) {
    if (plugin_) throw Error(kExitUsage, path + ": --plugin-compat needs a trace (tprof convert writes it)");
    attempt([&] {
      std::unique_ptr<Recording> recording = Recording::open(path);
      Meta meta = recording->read_meta();
      namespace fs = std::filesystem;
      std::string run = fs::absolute(path).parent_path().filename();
      u64 windows = 0;
      for (const WindowInfo& window : meta.windows) {
        bool recorded = window.state != WindowState::discarded && window.state != WindowState::warmup;
        if (!recorded || !window.begin_ticks) continue;
        if (2 * u64(window.number) + 1 < recording->header().given_back.load()) continue;  // its trace was written
        Span span;
        span.model = build_model(*recording, meta, request_of(window));
        span.source = {run, span.model.host + "_" + std::to_string(span.model.pid), std::to_string(++windows)};
        found(span, path);
      }
      if (!windows) throw Error(kExitUnreadable, path + ": holds no window");
    });
  }

  bool plugin_;
  const Use& use_;
  u64 used_ = 0;
  std::string failure_;  // the last one
};

}  // namespace

int for_each_span(const std::vector<std::string>& paths, bool plugin, const Use& use) {
  Loader loader(plugin, use);
  for (const std::string& path : paths) {
    std::error_code why;
    if (!std::filesystem::exists(path, why)) throw Error(kExitUnreadable, path + ": there is no such file or directory");
    loader.load(path);
  }
  int code = loader.finish();
  if (!loader.used()) throw Error(kExitUnreadable, paths[0] + ": holds no trace and no recording");
  if (code != kExitOk) complain("some files could not be read; the figures are of the others");
  return code;
}

}  // namespace tprof
