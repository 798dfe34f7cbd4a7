// Where the slices of a worker come from, and which other workers can be shown beside it.
import { at } from "../data/documents";
import { loadDetails, loadTimeline } from "../data/timeline";
import type { Timeline } from "../data/timeline_types";
import { sources as workers, workerText } from "../worker";
import { Source } from "./source";

interface Said {
  first_us?: number; // from what tables and advice count, after the begin of the span
  start_ns?: string | number | null; // of the span, since 1970
}

const said = (worker: number) => (at(`timeline/workers/${worker}`) ?? {}) as unknown as Said;

export async function sourceOf(worker: number): Promise<Source> {
  return new Source("", worker, await loadTimeline(worker), () => loadDetails(worker));
}

// Nanoseconds on the timeline of what tables and advice call zero.
export function zeroOf({ worker, timeline }: Source): number {
  const { first_us } = said(worker);
  return first_us === undefined ? timeline.from : Math.round(first_us * 1000);
}

// Others of the same run and span.
export function othersOf(worker: number): number[] {
  const own = workers()[worker];
  return workers().flatMap(({ run, span }, i) => (i !== worker && run === own.run && span === own.span ? [i] : []));
}

// Another worker's slices on this one's clock. Its clock is the same if both spans say when they began; else both are
// shown as if they had begun together.
export async function otherSource(worker: number, other: number): Promise<Source> {
  const timeline = await loadTimeline(other);
  const shift = shiftOf(worker, other) ?? 0;
  return new Source(`w${other}`, other, shift === 0 ? timeline : shifted(timeline, shift), () => loadDetails(other));
}

export function shiftOf(worker: number, other: number): number | undefined {
  const [own, its] = [said(worker).start_ns, said(other).start_ns];
  return own == null || its == null ? undefined : Number(BigInt(its) - BigInt(own));
}

function shifted(timeline: Timeline, by: number): Timeline {
  const later = (times: Float64Array) => times.map((time) => time + by);
  return {
    ...timeline,
    from: timeline.from + by,
    to: timeline.to + by,
    begin: later(timeline.begin),
    counters: timeline.counters.map((counter) => ({ ...counter, times: later(counter.times) })),
  };
}

export const titleOfWorker = (worker: number) => workerText(workers()[worker]);
