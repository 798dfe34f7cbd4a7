// The time in which any slice of some rows is open, as one row: what is busy, and what a slice has of its own.
import { Lane } from "./lanes";

// Of this row and of what lies below it. Where slices nest, that is the row itself.
export function coverOf(row: Lane, below: Lane | undefined): Lane {
  if (!below || holdsAll(row, below)) return row;
  const begins: number[] = [];
  const ends: number[] = [];
  let [i, j] = [0, 0];
  while (i < row.n || j < below.n) {
    const first = j === below.n || (i < row.n && row.begin[i] <= below.begin[j]);
    const [lane, k] = first ? [row, i++] : [below, j++];
    if (lane.dur[k] === 0) continue;
    const last = ends.length - 1;
    if (last >= 0 && lane.begin[k] <= ends[last]) ends[last] = Math.max(ends[last], lane.end(k));
    else {
      begins.push(lane.begin[k]);
      ends.push(lane.end(k));
    }
  }
  const sums = new Float64Array(begins.length + 1);
  for (let k = 0; k < begins.length; k++) sums[k + 1] = sums[k] + (ends[k] - begins[k]);
  const dur = Float64Array.from(begins, (begin, k) => ends[k] - begin);
  return new Lane(begins.length, Float64Array.from(begins), dur, sums, 0);
}

function holdsAll(row: Lane, below: Lane): boolean {
  let i = 0;
  for (let j = 0; j < below.n; j++) {
    if (below.dur[j] === 0) continue;
    while (i < row.n && row.end(i) <= below.begin[j]) i++;
    if (i === row.n || row.begin[i] > below.begin[j] || row.end(i) < below.end(j)) return false;
  }
  return true;
}
