// Bars of a flame graph or of a timeline, by row of a tree: where they lie, and which one is at a point or beside
// another.
import type { Tree } from "../table/tree";

export interface Bars {
  n: number;
  parent: Int32Array; // by row, -1: none
  level: Int32Array; // 0 at the top
  from: Float64Array; // in units of the axis; NaN: it has no bar
  to: Float64Array;
  roots: number[]; // rows at the top
}

// Where the graph begins and ends.
export function axisOf({ from, to, roots }: Bars, zoomed: number): [number, number] {
  if (zoomed >= 0) return [from[zoomed], to[zoomed]];
  return [
    roots.reduce((least, row) => Math.min(least, from[row]), Infinity),
    roots.reduce((most, row) => Math.max(most, to[row]), -Infinity),
  ];
}

// By level the bars that reach into the graph, from left to right.
export function visibleLevels(bars: Bars, zoomed: number): number[][] {
  const [begin, end] = axisOf(bars, zoomed);
  const out: number[][] = [];
  for (let row = 0; row < bars.n; row++)
    if (bars.to[row] > begin && bars.from[row] < end && bars.to[row] > bars.from[row])
      (out[bars.level[row]] ??= []).push(row);
  for (let level = 0; level < out.length; level++) (out[level] ??= []).sort((a, b) => bars.from[a] - bars.from[b]);
  return out;
}

// The bar of a level that is at `at`, or nearer than `reach`; -1: none.
export function barAt({ from, to }: Bars, level: number[], at: number, reach: number): number {
  let [low, high] = [0, level.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (from[level[middle]] <= at) low = middle + 1;
    else high = middle;
  }
  const [row, next] = [level[low - 1], level[low]];
  if (row !== undefined && to[row] > at) return row;
  if (row !== undefined && at - to[row] < reach) return row;
  return next !== undefined && from[next] - at < reach ? next : -1;
}

// Where an arrow key leads; -1: nowhere; undefined: it is no arrow.
export function neighbour(bars: Bars, levels: number[][], row: number, key: string): number | undefined {
  const level = bars.level[row];
  const place = levels[level]?.indexOf(row) ?? -1;
  switch (key) {
    case "ArrowLeft":
      return levels[level]?.[place - 1] ?? -1;
    case "ArrowRight":
      return levels[level]?.[place + 1] ?? -1;
    case "ArrowUp":
      return bars.parent[row];
    case "ArrowDown": {
      const inside = (levels[level + 1] ?? []).filter((one) => bars.parent[one] === row);
      return inside.length > 0 ? inside.reduce((a, b) => (lengthOf(bars, b) > lengthOf(bars, a) ? b : a)) : -1;
    }
    default:
      return undefined;
  }
}

const lengthOf = ({ from, to }: Bars, row: number) => to[row] - from[row];

// Bars of a tree side by side in the order of its rows, the rows below `roots` alone. A row is as wide as its value,
// but not wider than its parent.
export function stacked(tree: Tree, roots: number[], value: (row: number) => number): Bars {
  const out: Bars = {
    n: tree.n,
    parent: tree.parent,
    level: tree.depth,
    from: new Float64Array(tree.n).fill(NaN),
    to: new Float64Array(tree.n).fill(NaN),
    roots,
  };
  const children = tree.children(tree.below(-1));
  const known = (row: number) => Math.max(0, value(row));
  const place = (rows: number[], begin: number, room: number) => {
    const sum = rows.reduce((all, row) => all + known(row), 0);
    const scale = sum > room ? room / sum : 1;
    let x = begin;
    for (const row of rows) {
      out.from[row] = x;
      x += known(row) * scale;
      out.to[row] = x;
    }
  };
  place(roots, 0, Infinity);
  // Rows come after their parents.
  for (const row of tree.below(-1))
    if (!Number.isNaN(out.from[row])) place(children[row], out.from[row], out.to[row] - out.from[row]);
  return out;
}
