#include "kineto/write/loaders.h"

#include <algorithm>
#include <set>

#include "kineto/names.h"

namespace tprof::kineto {
namespace {

// Sends run on beside the next fetch: they have a row of their own.
i64 row_of(const LoaderEvent& event, const LoaderWorker* worker) {
  return worker ? 1 + 2 * i64(worker->id) + (event.part == LoaderPart::send) : 0;
}

void put_rows(const Model& model, Lines& lines) {
  u32 loaders = 0;
  for (const LoaderEvent& event : model.loader.events) loaders = std::max(loaders, event.loader);
  for (u32 n = 1; n <= loaders; n++) {
    std::string pid = std::to_string(kLoaderRows + n);
    lines.put_meta("process_name", pid, 0, {{"name", "DataLoader " + std::to_string(n)}}, model.begin_ns);
    lines.put_meta("process_sort_index", pid, 0, {{"sort_index", kLoaderRows + n}}, model.begin_ns);
    lines.put_meta("thread_name", pid, 0, {{"name", "draws of the program"}}, model.begin_ns);
  }
  std::set<std::pair<u32, i32>> rows;
  for (const LoaderWorker& worker : model.loader.workers) {
    if (!rows.emplace(worker.loader, worker.id).second) continue;
    std::string pid = std::to_string(kLoaderRows + worker.loader), name = "worker " + std::to_string(worker.id);
    lines.put_meta("thread_name", pid, 1 + 2 * worker.id, {{"name", name}}, model.begin_ns);
    lines.put_meta("thread_name", pid, 2 + 2 * worker.id, {{"name", name + " sends"}}, model.begin_ns);
  }
}

}  // namespace

void put_loaders(const Model& model, Lines& lines, OutputFile& out) {
  put_rows(model, lines);
  auto put_argument = [&](const char* key, const std::string& value) {
    out.put(std::string(", \"") + key + "\": " + value);
  };
  for (const LoaderEvent& event : model.loader.events) {
    const LoaderWorker* worker = event.worker == kNone ? nullptr : &model.loader.workers[event.worker];
    lines.begin();
    out.put(std::string("{\"ph\": \"X\", \"cat\": \"") + kLoaderWorker + "\", \"name\": \"" +
            kLoaderPartNames[u32(event.part)] + "\", \"pid\": " + std::to_string(kLoaderRows + event.loader) +
            ", \"tid\": " + std::to_string(row_of(event, worker)) + ", \"ts\": ");
    out.put_us(event.begin_ns);
    out.put(", \"dur\": ");
    out.put_us(event.dur_ns);
    out.put(std::string(", \"args\": {\"") + kLoader + "\": " + std::to_string(event.loader));
    if (worker) {
      put_argument(kWorker, std::to_string(worker->id));
      put_argument(kWorkers, std::to_string(worker->of));
      put_argument(kWorkerPid, std::to_string(worker->pid));
      if (worker->killed) put_argument(kWorkerKilled, "1");
    }
    if (event.part == LoaderPart::fetch) {
      put_argument(kCollateNs, std::to_string(event.collate_ns));
      put_argument(kCpuNs, std::to_string(event.cpu_ns));
    }
    if (event.whole_ns > event.dur_ns) put_argument(kWholeNs, std::to_string(event.whole_ns));
    if (event.whole_ns < 0) put_argument(kOurMark, std::string("\"") + kClippedMark + "\"");
    out.put("}}");
  }
}

}  // namespace tprof::kineto
