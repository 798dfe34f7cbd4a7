// How the columns of src/report/timeline.h are coded.
import type { Counter, Flow, Track } from "./timeline_types";
import type { Reader } from "./unpack";

const BITS = 18;

// As src/report/guesser.h: 0 stands for the number that was there the last time in the same surroundings.
export class Guesses {
  private readonly table = new Uint32Array(1 << BITS);

  next(reader: Reader, after: number, andAfter: number): number {
    const place = (Math.imul(after, 0x9e3779b1) ^ Math.imul(andAfter, 0x85ebca6b)) >>> (32 - BITS);
    const coded = reader.varint();
    if (coded === 0) return this.table[place];
    return (this.table[place] = coded - 1);
  }
}

function signed(reader: Reader): number {
  const negative = reader.varint() === 1;
  const value = reader.varint();
  return negative ? -value : value;
}

// Fills the sums of all rows, too.
export function readTimes(tracks: Track[], n: number, begins: Reader, durations: Reader) {
  const begin = new Float64Array(n);
  const dur = new Float64Array(n);
  let from = Infinity;
  let to = -Infinity;
  for (const { rows } of tracks) {
    for (const { first, n: count, sums } of rows) {
      let end = 0;
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const start = i === 0 ? signed(begins) : end + begins.varint();
        const lasts = durations.varint();
        begin[first + i] = start;
        dur[first + i] = lasts;
        end = start + lasts;
        sums[i + 1] = sum += lasts;
        if (i === 0 && start < from) from = start;
      }
      if (count > 0 && end > to) to = end;
    }
  }
  return n > 0 ? { begin, dur, from, to } : { begin, dur, from: 0, to: 0 };
}

export function readFlow(reader: Reader): Pick<Flow, "from" | "to"> {
  const [n] = reader.json() as number[];
  const from = new Uint32Array(n);
  const to = new Uint32Array(n);
  let lastFrom = 0;
  let lastTo = 0;
  for (let i = 0; i < n; i++) {
    from[i] = lastFrom += reader.varint();
    to[i] = lastTo += reader.zigzag();
  }
  return { from, to };
}

type CounterHead = Omit<Counter, "times" | "values"> & { points: number; as: "whole" | "double" };

export function readCounters(reader: Reader): Counter[] {
  return (reader.json() as unknown as CounterHead[]).map(({ points, as, ...counter }) => {
    const times = new Float64Array(points);
    for (let i = 0; i < points; i++) times[i] = i === 0 ? signed(reader) : times[i - 1] + reader.varint();
    return { ...counter, times, values: as === "whole" ? reader.ints(points) : reader.doubles(points) };
  });
}
