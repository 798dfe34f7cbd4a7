// Where bars lie: the children of a row side by side, the one with most first (left-heavy).
import type { Bars } from "../charts/flame";

// `parent`: by row, which come after their parents; row 0 is the top. Rows are as wide as `width`.
export function leftHeavy(parent: ArrayLike<number>, width: ArrayLike<number>): Bars {
  const n = parent.length;
  const out: Bars = {
    n,
    parent: Int32Array.from(parent),
    level: new Int32Array(n),
    from: new Float64Array(n).fill(NaN),
    to: new Float64Array(n).fill(NaN),
    roots: [0],
  };
  const children: number[][] = Array.from({ length: n }, () => []);
  for (let row = 1; row < n; row++) children[parent[row]].push(row);
  out.from[0] = 0;
  out.to[0] = width[0];
  const todo = [0];
  while (todo.length > 0) {
    const at = todo.pop()!;
    let x = out.from[at];
    for (const row of children[at].sort((a, b) => width[b] - width[a] || a - b)) {
      if (!(width[row] > 0)) break;
      out.level[row] = out.level[at] + 1;
      out.from[row] = x;
      x += width[row];
      out.to[row] = x;
      todo.push(row);
    }
  }
  return out;
}
