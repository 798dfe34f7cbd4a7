// The evidence of `tprof advise` as a track of its own: a pin for each event that a finding rests on.
import { documents } from "../data/documents";
import type { Row, Timeline } from "../data/timeline_types";
import type { Recommendation } from "../data/types";
import { Source } from "./source";

export const kAdvice = "advice";

export interface Pin {
  recommendation: number;
  evidence: number;
}

const kept = new WeakMap<Source, Pin[]>();

export function adviceOf({ worker }: Source, zero: number): Source | undefined {
  const found: Recommendation[] = documents.advise.workers[worker]?.recommendations ?? [];
  const pins: (Pin & { begin: number; dur: number })[] = found.flatMap(({ evidence }, recommendation) =>
    evidence.map(({ at_us, duration_us }, i) => ({
      recommendation,
      evidence: i,
      begin: zero + Math.round(at_us * 1000),
      dur: Math.round(duration_us * 1000),
    })),
  );
  if (pins.length === 0) return undefined;
  const rows: (typeof pins)[] = [];
  for (const pin of pins.sort((a, b) => a.begin - b.begin || b.dur - a.dur)) {
    const free = rows.find((row) => row[row.length - 1].begin + row[row.length - 1].dur <= pin.begin);
    if (free) free.push(pin);
    else rows.push([pin]);
  }
  const all = rows.flat();
  let first = 0;
  const laid = rows.map((row): Row => {
    const sums = new Float64Array(row.length + 1);
    row.forEach(({ dur }, i) => (sums[i + 1] = sums[i] + dur));
    first += row.length;
    return { first: first - row.length, n: row.length, sums };
  });
  const timeline: Timeline = {
    n: all.length,
    from: Math.min(...all.map(({ begin }) => begin)),
    to: Math.max(...all.map(({ begin, dur }) => begin + dur)),
    tracks: [{ key: kAdvice, group: kAdvice, kind: kAdvice, title: "Advice", thread: -1, rows: laid }],
    begin: Float64Array.from(all, ({ begin }) => begin),
    dur: Float64Array.from(all, ({ dur }) => dur),
    name: Uint32Array.from(all, ({ recommendation }) => recommendation),
    category: new Uint8Array(all.length),
    names: found.map(({ title }) => title),
    categories: [kAdvice],
    flows: [],
    counters: [],
    left_out: [],
  };
  const source = new Source(kAdvice, worker, timeline, async () => ({
    args: () => [],
    stack: () => [],
    search: () => new Uint8Array(timeline.n),
  }));
  kept.set(source, all);
  return source;
}

// Which finding, and which event of it, a pin stands for.
export const pinOf = (source: Source, slice: number): Pin | undefined => kept.get(source)?.[slice];
