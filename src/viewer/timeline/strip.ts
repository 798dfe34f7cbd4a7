// The pixels of one row of slices. A slice of a pixel or more is a bar of whole pixels. Where slices are narrower, a
// pixel has as much of its colour as the share of its time in which slices were open: exact, by the difference of two
// prefix sums, however many slices there are. The cost is that of the pixels, each with a binary search.
import type { Lane } from "./lanes";

export const kLeast = 40; // of 255: what is in the trace is seen, however short it is
const kGapFrom = 4; // pixels: bars of this width or more have a gap after them

export interface Window {
  from: number; // ns at the left edge
  perPixel: number; // ns
  width: number; // device pixels
}

// `out`: RGBA of `width` pixels. `color`: of a slice of the lane, as 0x00bbggrr. `found` is told of bars of `least`
// pixels or more, which have room for a text.
export function paintLane(
  lane: Lane,
  { from, perPixel, width }: Window,
  color: (i: number) => number,
  out: Uint32Array,
  least = Infinity,
  found?: (i: number, x0: number, x1: number) => void,
) {
  out.fill(0, 0, width);
  const { begin, dur, sums, n } = lane;
  const to = from + perPixel * width;
  const solid = (i: number) => (color(i) | 0xff000000) >>> 0;
  const shaded = (i: number, share: number) =>
    (color(i) | (Math.max(kLeast, Math.min(255, Math.round(255 * share))) << 24)) >>> 0;
  let i = lane.firstEnding(from);
  while (i > 0 && begin[i - 1] >= from) i--; // without length, at the very left
  while (i < n && begin[i] < to) {
    if (dur[i] >= perPixel) {
      const x0 = Math.max(0, Math.floor((begin[i] - from) / perPixel));
      const x1 = Math.min(width, Math.floor((begin[i] + dur[i] - from) / perPixel));
      if (x1 > x0) {
        out.fill(solid(i), x0, x1 - x0 >= kGapFrom && x1 < width ? x1 - 1 : x1);
        if (x1 - x0 >= least) found?.(i, x0, x1);
      }
      i++;
      continue;
    }
    const column = Math.max(0, Math.floor((begin[i] - from) / perPixel));
    const left = from + column * perPixel;
    const right = left + perPixel;
    const next = Math.max(i + 1, lane.firstFrom(right, i));
    const end = next - 1 > i && dur[next - 1] >= perPixel ? next - 1 : next; // a bar is drawn by itself
    const last = begin[end - 1] + dur[end - 1];
    const before = i > 0 ? Math.max(0, begin[i - 1] + dur[i - 1] - left) : 0; // what reaches in from the left
    const open = sums[end] - sums[i] - Math.max(0, left - begin[i]) - Math.max(0, last - right) + before;
    if (column < width) out[column] = shaded((i + end) >> 1 < end ? (i + end) >> 1 : i, open / perPixel);
    // What reaches out to the right counts there with what begins there; or else alone.
    if (last > right && column + 1 < width && (end === n || begin[end] >= right + perPixel))
      out[column + 1] = shaded(end - 1, (last - right) / perPixel);
    i = end;
  }
}

// Marks the pixels in which one of `wanted` (indices of the lane, ascending) is.
export function paintMarks(
  lane: Lane,
  { from, perPixel, width }: Window,
  wanted: Uint32Array,
  color: number,
  out: Uint32Array,
  wide: number, // pixels of a mark at least
) {
  out.fill(0, 0, width);
  const to = from + perPixel * width;
  let k = lowerBound(wanted, lane.firstEnding(from));
  while (k > 0 && lane.begin[wanted[k - 1]] >= from) k--;
  while (k < wanted.length && lane.begin[wanted[k]] < to) {
    const i = wanted[k];
    const x0 = Math.max(0, Math.floor((lane.begin[i] - from) / perPixel));
    const x1 = Math.min(width, Math.max(x0 + wide, Math.floor((lane.end(i) - from) / perPixel)));
    out.fill((color | 0xff000000) >>> 0, x0, x1);
    // The next one that is not wholly in what is marked.
    k = Math.max(k + 1, lowerBound(wanted, lane.firstEnding(from + (x1 - 0.5) * perPixel)));
  }
}

function lowerBound(sorted: Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
