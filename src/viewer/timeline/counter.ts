// A curve that has any number of points, drawn by pixels: each has the least and the largest value of its time.
import type { Counter } from "../data/timeline_types";

const kFan = 16;

// The least and the largest of any range of values, of which NaN are none: a pyramid, each level of which has those
// of 16 of the level below.
export class Extremes {
  private readonly low: Float64Array[];
  private readonly high: Float64Array[];

  constructor(values: Float64Array) {
    this.low = [values];
    this.high = [values];
    for (let n = values.length; n > kFan;) {
      const [low, high] = [this.low[this.low.length - 1], this.high[this.high.length - 1]];
      n = Math.ceil(n / kFan);
      const [lower, higher] = [new Float64Array(n).fill(NaN), new Float64Array(n).fill(NaN)];
      for (let i = 0; i < low.length; i++) {
        const k = Math.floor(i / kFan);
        if (!(lower[k] <= low[i])) lower[k] = Number.isNaN(low[i]) ? lower[k] : low[i];
        if (!(higher[k] >= high[i])) higher[k] = Number.isNaN(high[i]) ? higher[k] : high[i];
      }
      this.low.push(lower);
      this.high.push(higher);
    }
  }

  // Of values [from, to); [NaN, NaN] where none is known.
  of(from: number, to: number): [number, number] {
    let [least, most] = [NaN, NaN];
    const take = (level: number, i: number) => {
      const [low, high] = [this.low[level][i], this.high[level][i]];
      if (low < least || Number.isNaN(least)) least = low;
      if (high > most || Number.isNaN(most)) most = high;
    };
    for (let level = 0; from < to; level++) {
      const isTop = level + 1 === this.low.length;
      while (from < to && (isTop || from % kFan)) take(level, from++);
      while (from < to && to % kFan) take(level, --to);
      from /= kFan;
      to /= kFan;
    }
    return [least, most];
  }
}

const kept = new WeakMap<Counter, Extremes>();

export function extremesOf(counter: Counter): Extremes {
  let made = kept.get(counter);
  if (!made) kept.set(counter, (made = new Extremes(counter.values)));
  return made;
}

// The point that holds at a moment; -1: before the first.
export function pointAt(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function valueAt(counter: Counter, time: number): number | null {
  const value = counter.values[pointAt(counter.times, time)];
  return value === undefined || Number.isNaN(value) ? null : value;
}
