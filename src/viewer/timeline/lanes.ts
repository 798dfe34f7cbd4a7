// One row of a track as it is drawn: slices in order of time that do not overlap, so that both their begins and their
// ends are sorted. Times are in nanoseconds on the clock of the page.
import type { Row, Timeline } from "../data/timeline_types";

export class Lane {
  constructor(
    readonly n: number,
    readonly begin: Float64Array,
    readonly dur: Float64Array,
    readonly sums: Float64Array, // n + 1: the time of the first i slices together
    private readonly first: number,
    private readonly ids?: Uint32Array, // of a derived row: which slices it shows
  ) {}

  static of(timeline: Timeline, row: Row): Lane {
    const end = row.first + row.n;
    return new Lane(
      row.n,
      timeline.begin.subarray(row.first, end),
      timeline.dur.subarray(row.first, end),
      row.sums,
      row.first,
    );
  }

  // A row that shows some slices of others; `ids` in order of time.
  static ofSlices(timeline: Timeline, ids: Uint32Array): Lane {
    const n = ids.length;
    const begin = new Float64Array(n);
    const dur = new Float64Array(n);
    const sums = new Float64Array(n + 1);
    for (let i = 0; i < n; i++) {
      begin[i] = timeline.begin[ids[i]];
      dur[i] = timeline.dur[ids[i]];
      sums[i + 1] = sums[i] + dur[i];
    }
    return new Lane(n, begin, dur, sums, 0, ids);
  }

  slice(i: number): number {
    return this.ids ? this.ids[i] : this.first + i;
  }

  // Where a slice stands in this row; -1: it is in another one.
  indexOf(slice: number): number {
    if (!this.ids) return slice >= this.first && slice < this.first + this.n ? slice - this.first : -1;
    return this.ids.indexOf(slice);
  }

  end(i: number): number {
    return this.begin[i] + this.dur[i];
  }

  // The first slice that begins at or after a moment.
  firstFrom(time: number, from = 0): number {
    let [low, high] = [from, this.n];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The first slice that ends after a moment.
  firstEnding(time: number): number {
    let [low, high] = [0, this.n];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] + this.dur[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Nanoseconds between two moments in which a slice is open.
  busy(from: number, to: number): number {
    if (this.n === 0 || to <= from) return 0;
    const i = this.firstEnding(from);
    const j = this.firstFrom(to, i);
    if (j <= i) return 0;
    return this.sums[j] - this.sums[i] - Math.max(0, from - this.begin[i]) - Math.max(0, this.end(j - 1) - to);
  }

  // The slice that is open at a moment, or the nearest to it within `reach`; -1: none.
  at(time: number, reach: number): number {
    const after = this.firstFrom(time);
    let best = -1;
    let distance = reach;
    for (const i of [after - 1, after]) {
      if (i < 0 || i >= this.n) continue;
      const away = Math.max(0, this.begin[i] - time, time - this.end(i));
      if (away < distance || (away === 0 && distance === 0) || (best < 0 && away <= distance))
        [best, distance] = [i, away];
    }
    return best;
  }
}
