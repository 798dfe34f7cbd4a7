// Rows of `tprof stats --by flame` as contexts: of all threads or one, by function or line, without what is hidden.
import type { Table } from "../data/documents";
import { Contexts } from "./contexts";
import { frameOf, type Frame } from "./frame";

export interface Choice {
  thread: string; // its number, "": all together
  lines: boolean;
  hidden: string[]; // frames or libraries that are taken out of stacks: their time is their caller's
  without: string[]; // frames or libraries whose stacks are left out, with their time
}

// Keys of frames, and "library NAME", as `hidden` and `without` hold them.
export const libraryKey = (frame: Frame) => `library ${frame.library}`;

// The column of a context's own costs, by that of all below it too. Calls are its own alone.
export const selfKey = (key: string) => key.replace(/_total(?=_|$)/, "_self");

// Costs that have totals; and calls.
export function costsOf(table: Table): string[] {
  return table.columns
    .map(({ key }) => key)
    .filter((key) => key === "calls" || (selfKey(key) !== key && table.has(selfKey(key))));
}

export function contextsOf(table: Table, choice: Choice): Contexts {
  const costs = costsOf(table);
  const frames: Frame[] = [];
  const known = new Map<string, number>();
  const known_frame = new Map<string, number>(); // by kind and name as recorded
  const numberOf = (name: string, kind: string) => {
    const recorded = `${kind} ${name}`;
    let number = known_frame.get(recorded);
    if (number !== undefined) return number;
    const frame = frameOf(name, kind, choice.lines);
    number = known.get(frame.key);
    if (number === undefined) {
      number = frames.push(frame) - 1;
      known.set(frame.key, number);
    }
    known_frame.set(recorded, number);
    return number;
  };
  const n = table.n;
  const frameOfRow = new Int32Array(n);
  const parent = new Int32Array(n);
  const covered = costs.map(() => new Float64Array(n)); // by row: what its children have
  for (let row = 0; row < n; row++) {
    parent[row] = table.number(row, "parent") ?? -1;
    if (parent[row] >= 0) frameOfRow[row] = numberOf(table.text(row, "name"), table.text(row, "kind"));
    if (parent[row] >= 0) costs.forEach((key, i) => (covered[i][parent[row]] += table.number(row, key) ?? 0));
  }
  const left = numberOf("contexts that are not in this page", "left_out");
  const isOf = (keys: string[]) => frames.map((one) => keys.includes(one.key) || keys.includes(libraryKey(one)));
  const hidden = isOf(choice.hidden);
  const without = isOf(choice.without);

  const out = new Contexts(frames, costs);
  const place = new Int32Array(n).fill(-1);
  for (let row = 0; row < n; row++) {
    if (parent[row] < 0) {
      place[row] = choice.thread === "" || choice.thread === threadOf(table, row) ? 0 : -1;
    } else {
      const above = place[parent[row]];
      const frame = frameOfRow[row];
      place[row] = above < 0 || without[frame] ? -1 : hidden[frame] ? above : out.child(above, frame);
    }
    if (place[row] < 0) continue;
    costs.forEach((key, i) => (out.self[i][place[row]] += table.number(row, selfKey(key)) ?? 0));
    if ((table.number(row, "left_out") ?? 0) === 0) continue;
    costs.forEach((key, i) => {
      const rest = (table.number(row, key) ?? 0) - (table.number(row, selfKey(key)) ?? 0) - covered[i][row];
      if (rest > 1e-6) out.self[i][out.child(place[row], left)] += rest;
    });
  }
  return out.sumUp();
}

export function threadOf(table: Table, row: number): string {
  return String(table.value(row, "thread") ?? "none");
}

// Threads with their names, the one with most of a cost first.
export function threadsOf(table: Table, cost: string): [string, string][] {
  return table
    .rows()
    .filter((row) => table.value(row, "parent") === null)
    .sort((a, b) => (table.number(b, cost) ?? 0) - (table.number(a, cost) ?? 0))
    .map((row) => [threadOf(table, row), table.text(row, "name")]);
}
