// The slices that hold a text: in their name, what the trace says of them, or their call stack. In quotes it is a whole
// name: "aten::mm".
import type { Ref, Source } from "./source";
import type { Lane } from "./lanes";

export interface Hits {
  source: Source;
  found: Uint8Array; // by slice
  inTime: Uint32Array; // the slices found, in order of time
}

export function exactName(text: string): string | undefined {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : undefined;
}

export async function search(source: Source, text: string): Promise<Hits> {
  const { timeline } = source;
  const whole = exactName(text);
  const wanted = text.toLowerCase();
  const named = timeline.names.map((name) =>
    whole !== undefined ? name === whole : name.toLowerCase().includes(wanted),
  );
  // A copy: what the details found may be kept by them.
  const found = whole !== undefined ? new Uint8Array(timeline.n) : (await source.details()).search(text).slice();
  let n = 0;
  for (let i = 0; i < timeline.n; i++) {
    if (named[timeline.name[i]]) found[i] = 1;
    n += found[i];
  }
  const inTime = new Uint32Array(n);
  for (let i = 0, k = 0; i < timeline.n; i++) if (found[i]) inTime[k++] = i;
  const { begin } = timeline;
  inTime.sort((a, b) => begin[a] - begin[b] || a - b);
  return { source, found, inTime };
}

// Of one row, as indices of it.
export function hitsOf(lane: Lane, { found }: Hits): Uint32Array {
  const out: number[] = [];
  for (let i = 0; i < lane.n; i++) if (found[lane.slice(i)]) out.push(i);
  return Uint32Array.from(out);
}

export interface NameHits {
  name: string;
  count: number;
  dur: number; // ns, of all of them together
  longest: number; // slice
}

export function byName({ source: { timeline }, inTime }: Hits): NameHits[] {
  const rows = new Map<number, NameHits>();
  for (const slice of inTime) {
    const name = timeline.name[slice];
    let row = rows.get(name);
    if (!row) rows.set(name, (row = { name: timeline.names[name], count: 0, dur: 0, longest: slice }));
    row.count++;
    row.dur += timeline.dur[slice];
    if (timeline.dur[slice] > timeline.dur[row.longest]) row.longest = slice;
  }
  return [...rows.values()].sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

export function longestOf({ source: { timeline }, inTime }: Hits): number | undefined {
  let best: number | undefined;
  for (const slice of inTime) if (best === undefined || timeline.dur[slice] > timeline.dur[best]) best = slice;
  return best;
}

// How many hits come before a slice in order of time; those of the first source first where times are equal.
export function rankOf(all: Hits[], at: Ref): number {
  return all.reduce((sum, hits) => sum + before(all, hits, at), 0);
}

// The hit after or before a slice, or a moment; after the last comes the first.
export function nextHit(all: Hits[], from: Ref | number, way: 1 | -1): Ref | undefined {
  let best: Ref | undefined;
  let edge: Ref | undefined; // where it goes on after the last
  for (const hits of all) {
    const { source, inTime } = hits;
    if (inTime.length === 0) continue;
    let i = before(all, hits, from);
    if (way < 0) i--;
    else if (typeof from !== "number" && from.source === source && inTime[i] === from.slice) i++;
    const next = i >= 0 && i < inTime.length ? { source, slice: inTime[i] } : undefined;
    if (next && (!best || isBefore(all, next, best) === way > 0)) best = next;
    const end = { source, slice: inTime[way > 0 ? 0 : inTime.length - 1] };
    if (!edge || isBefore(all, end, edge) === way > 0) edge = end;
  }
  return best ?? edge;
}

function isBefore(all: Hits[], a: Ref, b: Ref | number): boolean {
  const begin = a.source.begin(a.slice);
  if (typeof b === "number") return begin < b;
  if (begin !== b.source.begin(b.slice)) return begin < b.source.begin(b.slice);
  const order = ({ source }: Ref) => all.findIndex((one) => one.source === source);
  return a.source === b.source ? a.slice < b.slice : order(a) < order(b);
}

// How many of these hits come before.
function before(all: Hits[], { source, inTime }: Hits, at: Ref | number): number {
  let [low, high] = [0, inTime.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(all, { source, slice: inTime[middle] }, at)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The hit that begins at a moment, or nearest to it; on that thread, if one is named and has any.
export function nearestOf(hits: Hits, at: number, thread?: number): number | undefined {
  const { source, inTime } = hits;
  const { timeline } = source;
  const own = (slice: number) => timeline.tracks[source.place(slice).track].thread === thread;
  let best: number | undefined;
  let least = Infinity;
  for (const slice of inTime) {
    const away = Math.abs(timeline.begin[slice] - at) + (thread === undefined || own(slice) ? 0 : 1e15);
    if (away < least) [best, least] = [slice, away];
  }
  return best;
}
