// The tables for a moment or a range of time that is chosen on the curve of memory: the rows that
// `tprof stats --by memory` prints with --range and --at, by the same rules (report/memory_tables.cpp). tests/page
// compares them.
import { Table } from "../data/documents";
import type { Column } from "../data/types";
import type { Cell } from "../data/unpack";

// Microseconds from the start of the trace; both ends belong to the range.
export interface Range {
  begin: number;
  end: number;
}

// Moments are whole nanoseconds: sums and comparisons in microseconds would be off by their last digit.
const ns = (us: number) => Math.round(us * 1000);

export function holds({ begin, end }: Range, us: number | null): boolean {
  return us !== null && ns(begin) <= ns(us) && ns(us) <= ns(end);
}

// The peak of a device's curve in a range, [us, bytes]. The value at the start of the range counts too. The curve has
// not all points: between two of them, all allocations and releases are added up.
export function peakIn(
  range: Range,
  points: [number, number, number][],
  changes: Table,
  device: string,
): [number, number] | undefined {
  let [peak, now, k]: [[number, number] | undefined, number | undefined, number] = [undefined, undefined, 0];
  const reach = (at: number, allocated: number) => {
    now = allocated;
    if (ns(at) < ns(range.begin)) peak = [range.begin, allocated];
    else if (!peak || allocated > peak[1]) peak = [at, allocated];
  };
  const pointsUntil = (end: number) => {
    const before = k;
    for (; k < points.length && ns(points[k][0]) <= ns(end); k++) reach(points[k][0], points[k][1]);
    return k > before;
  };
  for (let i = 0; i < changes.n; i++) {
    const at = changes.number(i, "time");
    if (at === null || changes.text(i, "device") !== device) continue;
    if (ns(at) > ns(range.end)) break;
    if (!pointsUntil(at) && now !== undefined) reach(at, now + (changes.number(i, "size") ?? 0));
  }
  pointsUntil(range.end);
  return peak;
}

// Blocks that were allocated or released in the range.
export function liesIn(range: Range, events: Table, row: number): boolean {
  return holds(range, events.number(row, "allocation_time")) || holds(range, events.number(row, "release_time"));
}

interface Use {
  device: string;
  name: string;
  calls: number;
  size_increase: number;
  self_size_increase: number;
  allocation_count: number;
  self_allocation_count: number;
  allocation_size: number;
  self_allocation_size: number;
  [key: string]: Cell;
}

// Each allocation and release in the range counts for the operator that was running, and in the total once for each
// name around it. Calls are those that overlap the range.
export function statisticsOf(all: Table, nodes: Table, changes: Table, range: Range): Table {
  const rows = new Map<string, Use>();
  const of = (device: string, name: string) => {
    const key = `${device}\0${name}`;
    let use = rows.get(key);
    if (!use)
      rows.set(
        key,
        (use = {
          device,
          name,
          calls: 0,
          size_increase: 0,
          self_size_increase: 0,
          allocation_count: 0,
          self_allocation_count: 0,
          allocation_size: 0,
          self_allocation_size: 0,
        }),
      );
    return use;
  };
  for (let i = 0; i < changes.n; i++) {
    if (!holds(range, changes.number(i, "time"))) continue;
    const device = changes.text(i, "device");
    const size = changes.number(i, "size") ?? 0;
    const [count, allocated] = size > 0 ? [1, size] : [0, 0];
    const counted: string[] = [];
    const own = changes.number(i, "node");
    for (let at = own; at !== null; at = nodes.number(at, "parent")) {
      const name = nodes.text(at, "name");
      const use = of(device, name);
      if (at === own) {
        use.self_size_increase += size;
        use.self_allocation_count += count;
        use.self_allocation_size += allocated;
      }
      if (counted.includes(name)) continue;
      counted.push(name);
      use.size_increase += size;
      use.allocation_count += count;
      use.allocation_size += allocated;
    }
  }
  const calls = new Map<string, number>();
  for (let i = 0; i < nodes.n; i++) {
    if (ns(nodes.number(i, "end") ?? 0) < ns(range.begin) || ns(nodes.number(i, "begin") ?? 0) > ns(range.end))
      continue;
    const name = nodes.text(i, "name");
    calls.set(name, (calls.get(name) ?? 0) + 1);
  }
  for (const use of rows.values()) use.calls = calls.get(use.name) ?? 0;
  const sorted = [...rows.values()].sort((a, b) => byDevice(a.device, b.device) || byText(a.name, b.name));
  sorted.sort((a, b) => b.self_size_increase - a.self_size_increase);
  return tableOf(all.at, all.columns, sorted, `--range ${range.begin}:${range.end}`);
}

export const kAlive: Column[] = [
  { key: "device", title: "Device", unit: "text" },
  { key: "operator", title: "Operator", unit: "text" },
  { key: "size", title: "Size", unit: "bytes" },
  { key: "share", title: "Share", unit: "percent" },
  { key: "blocks", title: "Blocks", unit: "count" },
  { key: "stack", title: "Stack", unit: "count" },
  { key: "call_stack", title: "Source Location", unit: "text" },
];

interface Owner {
  device: string;
  operator: string | null;
  stack: number | null;
  size: number;
  blocks: number;
}

// Blocks alive at that moment, summed by operator and call stack.
export function aliveAt(pointer: string, events: Table, stacks: Table, moment: number): Table {
  const then = ns(moment);
  const owners = new Map<string, Owner>();
  const all = new Map<string, number>();
  for (let i = 0; i < events.n; i++) {
    const [from, to] = [events.number(i, "allocation_time"), events.number(i, "release_time")];
    if ((from !== null && ns(from) > then) || (to !== null && then >= ns(to))) continue;
    const [device, operator, stack] = [
      events.text(i, "device"),
      events.value(i, "operator") as string | null,
      events.number(i, "stack"),
    ];
    const key = `${device}\0${operator ?? ""}\0${stack ?? ""}`;
    let owner = owners.get(key);
    if (!owner) owners.set(key, (owner = { device, operator, stack, size: 0, blocks: 0 }));
    const size = events.number(i, "size") ?? 0;
    owner.size += size;
    owner.blocks++;
    all.set(device, (all.get(device) ?? 0) + size);
  }
  const textOf = new Map<number, string>();
  for (let i = 0; i < stacks.n; i++) textOf.set(stacks.number(i, "stack")!, stacks.text(i, "call_stack"));
  const sorted = [...owners.values()].sort(
    (a, b) =>
      byDevice(a.device, b.device) || byText(a.operator ?? "", b.operator ?? "") || (a.stack ?? 0) - (b.stack ?? 0),
  );
  sorted.sort((a, b) => b.size - a.size);
  const rows = sorted.map((owner) => {
    const whole = all.get(owner.device)!;
    return {
      ...owner,
      share: whole > 0 ? (100 * owner.size) / whole : null,
      call_stack: owner.stack === null ? null : (textOf.get(owner.stack) ?? null),
    };
  });
  return tableOf(`${pointer}/alive`, kAlive, rows, `--at ${moment}`);
}

function tableOf(at: string, columns: Column[], rows: Record<string, Cell>[], options: string): Table {
  const cells = new Map(columns.map(({ key }) => [key, (row: number) => rows[row][key]]));
  return new Table(at, columns, [], { n: rows.length, columns: cells }, 0, options);
}

// The CPU first, then GPUs by number.
const byDevice = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
