// The slices of one worker and span for the timeline, as typed arrays. Times are in nanoseconds since the start of the
// span (Model::begin_ns), and may be negative: work that was launched before it.
//
// A track is a thread, a lane of one, a stream of a GPU, ... Its slices lie in rows: row d holds those with d slices
// around them on the same track. Slices of a row are in order of time and do not overlap, so that a search finds those
// in sight, and a difference of two prefix sums is the busy time between them.
export interface Row {
  first: number; // slices first ... first + n - 1 of the arrays
  n: number;
  sums: Float64Array; // n + 1: sums[i] is the time of the first i slices together, in ns
}

export interface Track {
  key: string; // for the address and for tests; unique: the "key" of its row in `tprof stats --by track`
  group: string; // what it belongs to: "host", "gpu 0", "overhead"
  kind: string; // "thread", "lane", "stream", "sync", "overhead", ...: column "kind" of `tprof stats --by track`
  title: string;
  thread: number; // OS thread id of its owner; -1: it is no thread
  rows: Row[];
}

export interface Flow {
  kind: "launch" | "backward"; // call -> GPU activity, forward -> backward
  from: Uint32Array; // slices, in order of `from`
  to: Uint32Array;
}

// A step function: values[i] holds from times[i] to times[i + 1], NaN: not known.
export interface Counter {
  key: string;
  group: string;
  title: string; // "Allocated", "GPU utilization", "Queue of stream 7"
  unit: string; // as of columns: bytes, percent, count
  times: Float64Array;
  values: Float64Array;
}

export interface Timeline {
  n: number; // slices
  from: number; // the earliest start and the latest end of a slice, in ns
  to: number;
  tracks: Track[];
  begin: Float64Array;
  dur: Float64Array;
  name: Uint32Array; // index into names
  category: Uint8Array; // index into categories
  names: string[];
  categories: string[]; // cpu_op, user_annotation, step, evaluation, module, python_function, cuda_runtime, kernel, ...
  flows: Flow[];
  counters: Counter[];
  left_out: string[]; // sentences: what of the span is not in the page, and how to see it
}

// What is inflated when it is first asked for.
export interface TimelineDetails {
  // What the trace says of a slice: "Input Dims", "grid", "bytes", "correlation" ...
  args(slice: number): [string, string][];
  // Its call stack, the innermost frame first; empty: none was recorded.
  stack(slice: number): string[];
  // Slices with an args value or a frame of the stack in which `text` is, without regard to case: 1 in the array.
  search(text: string): Uint8Array;
}
