// What the workers of torch.utils.data.DataLoaders did during a span, beside the draws of their program.
//
// Workers have recordings of their own, which lie beside that of their program. What they hold is cut to the span.
#pragma once
#include <vector>

#include "record/record.h"

namespace tprof {

// How the events of a trace call the parts; [LoaderPart].
constexpr const char* kLoaderPartNames[] = {"", "start", "wait for work", "fetch", "send", "draw"};
constexpr u32 kLoaderParts = sizeof kLoaderPartNames / sizeof *kLoaderPartNames;

// Worker `id` of `of` of a DataLoader. A loader that starts its workers again for each epoch has one for each.
struct LoaderWorker {
  u32 loader = 0;  // the DataLoaders of the span are counted from 1, in order of time
  i32 id = 0;
  u32 of = 0;
  u32 pid = 0;
  bool killed = false;  // its process ended without leaving its loop: its last part may be shorter than it looks
};

struct LoaderEvent {
  i64 begin_ns = 0, dur_ns = 0;  // in the span
  i64 whole_ns = -1;             // including what lies before the span; -1: it went on after the span
  i64 collate_ns = 0;            // fetch: the part of `whole_ns` that collate_fn took; 0: there was no batch
  i64 cpu_ns = 0;                // fetch: CPU time of the worker
  u32 loader = 0;                // as LoaderWorker::loader
  u32 worker = 0xffffffff;       // index into LoaderActivity::workers; kNone: the program (draw)
  LoaderPart part = LoaderPart::none;

  i64 end_ns() const { return begin_ns + dur_ns; }
};

struct LoaderActivity {
  std::vector<LoaderWorker> workers;  // those of which something is known
  std::vector<LoaderEvent> events;    // in order of begin_ns
  bool empty() const { return events.empty(); }
};

}  // namespace tprof
