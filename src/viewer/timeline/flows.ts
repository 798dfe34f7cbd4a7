// Arrows from slice to slice, found from both of their ends.
import type { Flow, Timeline } from "../data/timeline_types";

export interface Arrow {
  kind: Flow["kind"];
  from: number;
  to: number;
}

interface Ends {
  flow: Flow;
  byTo: Uint32Array; // numbers of arrows in order of where they point to
}

const kept = new WeakMap<Timeline, Ends[]>();

function endsOf(timeline: Timeline): Ends[] {
  let made = kept.get(timeline);
  if (!made) {
    made = timeline.flows.map((flow) => ({
      flow,
      byTo: Uint32Array.from(flow.to, (_, i) => i).sort((a, b) => flow.to[a] - flow.to[b]),
    }));
    kept.set(timeline, made);
  }
  return made;
}

export function arrowsFrom(timeline: Timeline, slice: number): Arrow[] {
  return endsOf(timeline).flatMap(({ flow }) => {
    const found: Arrow[] = [];
    for (let i = search(flow.from.length, (k) => flow.from[k], slice); flow.from[i] === slice; i++)
      found.push({ kind: flow.kind, from: slice, to: flow.to[i] });
    return found;
  });
}

export function arrowsTo(timeline: Timeline, slice: number): Arrow[] {
  return endsOf(timeline).flatMap(({ flow, byTo }) => {
    const found: Arrow[] = [];
    for (let i = search(byTo.length, (k) => flow.to[byTo[k]], slice); flow.to[byTo[i]] === slice; i++)
      found.push({ kind: flow.kind, from: flow.from[byTo[i]], to: slice });
    return found;
  });
}

export const flowCount = (timeline: Timeline) => timeline.flows.reduce((sum, { from }) => sum + from.length, 0);

function search(n: number, at: (i: number) => number, value: number): number {
  let [low, high] = [0, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
