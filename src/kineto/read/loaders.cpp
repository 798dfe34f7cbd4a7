// The workers of DataLoaders, as kineto/write/loaders.cpp writes them.
#include <algorithm>

#include "kineto/names.h"
#include "kineto/read/state.h"

namespace tprof::kineto {
namespace {

LoaderPart part_of(std::string_view name) {
  for (u32 part = 1; part < kLoaderParts; part++)
    if (name == kLoaderPartNames[part]) return LoaderPart(part);
  return LoaderPart::none;
}

}  // namespace

bool add_loader_event(ReadState& state, const EventFields& f) {
  LoaderEvent e;
  e.part = part_of(f.name);
  e.loader = u32_of(f.arg(kLoader), 0);
  if (e.part == LoaderPart::none || !e.loader) return false;
  e.begin_ns = f.begin_ns;
  e.dur_ns = f.dur_ns;
  e.collate_ns = integer_of(f.arg(kCollateNs)).value_or(0);
  e.cpu_ns = integer_of(f.arg(kCpuNs)).value_or(0);
  e.whole_ns = text_of(f.arg(kOurMark)) == kClippedMark ? -1 : integer_of(f.arg(kWholeNs)).value_or(e.dur_ns);
  LoaderActivity& loader = state.model.loader;
  if (e.part != LoaderPart::draw) {
    LoaderWorker worker{e.loader, i32(u32_of(f.arg(kWorker), 0)), u32_of(f.arg(kWorkers), 0),
                        u32_of(f.arg(kWorkerPid), 0), !f.arg(kWorkerKilled).is_null()};
    auto [at, added] =
        state.loader_workers.emplace(std::tuple(worker.loader, worker.id, worker.pid), u32(loader.workers.size()));
    if (added) loader.workers.push_back(worker);
    e.worker = at->second;
  }
  loader.events.push_back(e);
  return true;
}

void sort_loader_events(Model& model) {
  std::stable_sort(model.loader.events.begin(), model.loader.events.end(),
                   [](const LoaderEvent& a, const LoaderEvent& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace tprof::kineto
