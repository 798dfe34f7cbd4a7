// Rows that form a tree. The children of a row come after it and before its next sibling; column "depth" is the number
// of its ancestors. Siblings are sorted, a search keeps the ancestors of what it finds, and branches can be closed.
import type { Table } from "../data/documents";

export const kTreeColumns = ["parent", "depth", "left_out"]; // seen in the form of the tree

export class Tree {
  readonly n: number;
  readonly parent: Int32Array; // by row, -1: none
  readonly depth: Int32Array;
  readonly isLeaf: boolean[];
  readonly indent: number; // px of each level

  constructor(table: Table) {
    this.n = table.n;
    this.parent = new Int32Array(table.n);
    this.depth = new Int32Array(table.n);
    this.isLeaf = new Array<boolean>(table.n).fill(true);
    const path: number[] = [];
    for (let row = 0; row < table.n; row++) {
      path.length = Math.min(path.length, table.number(row, "depth") ?? 0);
      this.depth[row] = path.length;
      this.parent[row] = path.length > 0 ? path[path.length - 1] : -1;
      if (path.length > 0) this.isLeaf[this.parent[row]] = false;
      path.push(row);
    }
    this.indent = Math.min(16, 240 / this.depth.reduce((most, depth) => Math.max(most, depth), 1));
  }

  // By row, the last list: of the top. Each in the order of `rows`, those alone.
  children(rows: Iterable<number>): number[][] {
    const out: number[][] = Array.from({ length: this.n + 1 }, () => []);
    for (const row of rows) out[this.parent[row] < 0 ? this.n : this.parent[row]].push(row);
    return out;
  }

  // `root` and what hangs on it, -1: all.
  below(root: number): number[] {
    const out: number[] = [];
    for (
      let row = Math.max(0, root);
      row < this.n && (root < 0 || row === root || this.depth[row] > this.depth[root]);
      row++
    )
      out.push(row);
    return out;
  }

  // How many levels from the top can be open so that no more than `most` of `rows` are seen.
  levelsWithin(rows: number[], most: number): number {
    const counts: number[] = [];
    for (const row of rows)
      counts[this.depth[row] - this.depth[rows[0]]] = (counts[this.depth[row] - this.depth[rows[0]]] ?? 0) + 1;
    let sum = 0;
    let levels = 0;
    while (levels < counts.length && (sum += counts[levels]) <= most) levels++;
    return Math.max(0, levels - 1);
  }

  // `sorted`: all rows, siblings in their order. `found`: the rows that a search found. `root`: the row at the top, or
  // -1 for all rows without a parent.
  shown(sorted: number[], found: number[], isOpen: (row: number) => boolean, root: number): number[] {
    const kept = new Set(found);
    for (const row of found)
      for (let up = this.parent[row]; up >= 0 && !kept.has(up); up = this.parent[up]) kept.add(up);
    const children = this.children(sorted.filter((row) => kept.has(row)));
    const out: number[] = [];
    const todo = root < 0 ? children[this.n].reverse() : kept.has(root) ? [root] : [];
    while (todo.length > 0) {
      const row = todo.pop()!;
      out.push(row);
      if (isOpen(row)) for (const child of children[row].reverse()) todo.push(child);
    }
    return out;
  }
}
