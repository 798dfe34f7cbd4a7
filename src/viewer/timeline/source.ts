// Slices of one worker, or others that look like them (advice): where each stands and what is around it.
import type { Timeline, TimelineDetails } from "../data/timeline_types";
import { coverOf } from "./cover";
import { Lane } from "./lanes";

export interface Place {
  track: number;
  row: number;
  i: number; // in the row
}

// A slice of a source. Its text in the address: "17", of another source "advice.17".
export interface Ref {
  source: Source;
  slice: number;
}

export class Source {
  readonly lanes: Lane[][]; // by track and row
  private readonly firsts: Float64Array; // of all rows, sorted
  private readonly places: [number, number][];
  private readonly covers: Lane[][];

  constructor(
    readonly id: string, // in the address; "": the worker that the page is about
    readonly worker: number,
    readonly timeline: Timeline,
    readonly details: () => Promise<TimelineDetails>,
  ) {
    this.lanes = timeline.tracks.map((track) => track.rows.map((row) => Lane.of(timeline, row)));
    this.covers = timeline.tracks.map(() => []);
    const rows: [number, number, number][] = [];
    timeline.tracks.forEach((track, t) => track.rows.forEach((row, r) => row.n > 0 && rows.push([row.first, t, r])));
    rows.sort((a, b) => a[0] - b[0]);
    this.firsts = Float64Array.from(rows, (row) => row[0]);
    this.places = rows.map(([, t, r]) => [t, r]);
  }

  place(slice: number): Place {
    let [low, high] = [0, this.firsts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle] <= slice) low = middle + 1;
      else high = middle;
    }
    const [track, row] = this.places[low - 1];
    return { track, row, i: slice - this.firsts[low - 1] };
  }

  name(slice: number): string {
    return this.timeline.names[this.timeline.name[slice]];
  }
  category(slice: number): string {
    return this.timeline.categories[this.timeline.category[slice]];
  }
  begin(slice: number): number {
    return this.timeline.begin[slice];
  }
  end(slice: number): number {
    return this.timeline.begin[slice] + this.timeline.dur[slice];
  }

  // The time in which a slice of this row, or of one below it, is open; undefined where there is none.
  cover(track: number, row: number): Lane | undefined {
    const lanes = this.lanes[track];
    const made = this.covers[track];
    if (made.length === 0) {
      let below: Lane | undefined;
      for (let r = lanes.length - 1; r >= 0; r--) made[r] = below = coverOf(lanes[r], below);
    }
    return made[row];
  }

  // The slice around it; -1: none.
  parent(slice: number): number {
    const { track, row } = this.place(slice);
    for (let r = row - 1; r >= 0; r--) {
      const above = this.lanes[track][r];
      const i = lastFrom(above, this.begin(slice));
      if (i >= 0 && above.end(i) >= this.end(slice)) return above.slice(i);
    }
    return -1;
  }

  // The first slice inside of it; -1: none.
  firstChild(slice: number): number {
    const { track, row } = this.place(slice);
    const end = this.end(slice);
    for (let r = row + 1; r < this.lanes[track].length; r++) {
      const below = this.lanes[track][r];
      const i = below.firstFrom(this.begin(slice));
      if (i < below.n && below.end(i) <= end) return below.slice(i);
    }
    return -1;
  }

  // Without the time in which a slice of a row below is open, as `tprof stats --by slice` counts.
  self(slice: number): number {
    const { track, row } = this.place(slice);
    const below = this.cover(track, row + 1);
    return this.timeline.dur[slice] - (below?.busy(this.begin(slice), this.end(slice)) ?? 0);
  }

  // The one before or after it in its row; -1: none.
  neighbour(slice: number, way: number): number {
    const { track, row, i } = this.place(slice);
    const next = i + way;
    const lane = this.lanes[track][row];
    return next >= 0 && next < lane.n ? lane.slice(next) : -1;
  }
}

// The last slice that begins at or before a moment; -1: none.
function lastFrom(lane: Lane, time: number): number {
  let i = lane.firstFrom(time);
  while (i < lane.n && lane.begin[i] === time) i++;
  return i - 1;
}
