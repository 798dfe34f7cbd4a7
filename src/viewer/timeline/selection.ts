// What lies in a range of time, by track and name: the rows that `tprof stats --by slice --range A:B` prints, by the
// same rules (analysis/tables/slice_sums.cpp). tests/page compares them.
import { Table } from "../data/documents";
import type { Column } from "../data/types";
import type { Lane } from "./lanes";
import type { Source } from "./source";
import type { Span } from "./stage";

interface Sum {
  track: string;
  name: string;
  category: string;
  count: number;
  total: number;
  self: number;
  min: number;
  max: number;
}

export const kSliceColumns: Column[] = [
  { key: "track", title: "Track", unit: "text" },
  { key: "name", title: "Name", unit: "text" },
  { key: "category", title: "Category", unit: "text" },
  { key: "count", title: "Count", unit: "count" },
  { key: "total", title: "Total", unit: "us" },
  { key: "self", title: "Self", unit: "us" },
  { key: "average", title: "Average", unit: "us" },
  { key: "min", title: "Shortest", unit: "us" },
  { key: "max", title: "Longest", unit: "us" },
];

export function sumsOf(source: Source, { from, to }: Span): Sum[] {
  return source.timeline.tracks.flatMap(({ key }, number) => {
    const sums = new Map<number, Sum>();
    source.lanes[number].forEach((lane, row) =>
      addRow(sums, source, key, lane, source.cover(number, row + 1), from, to),
    );
    return [...sums.values()].sort(
      (a, b) => b.total - a.total || byText(a.name, b.name) || byText(a.category, b.category),
    );
  });
}

function addRow(
  sums: Map<number, Sum>,
  source: Source,
  track: string,
  lane: Lane,
  below: Lane | undefined,
  from: number,
  to: number,
) {
  const { name, category, names, categories } = source.timeline;
  const end = lane.firstFrom(to);
  let i = lane.firstEnding(from);
  while (i > 0 && lane.dur[i - 1] === 0 && lane.begin[i - 1] >= from) i--;
  for (; i < end; i++) {
    // One without length belongs to the range in which it stands.
    if (lane.dur[i] === 0 && lane.begin[i] < from) continue;
    const slice = lane.slice(i);
    const [begin, last] = [Math.max(from, lane.begin[i]), Math.min(to, lane.end(i))];
    const inside = last - begin;
    const kind = name[slice] * categories.length + category[slice];
    let sum = sums.get(kind);
    if (!sum)
      sums.set(
        kind,
        (sum = {
          track,
          name: names[name[slice]],
          category: categories[category[slice]],
          count: 0,
          total: 0,
          self: 0,
          min: inside,
          max: inside,
        }),
      );
    sum.count++;
    sum.total += inside;
    sum.self += inside - (below ? below.busy(begin, last) : 0);
    sum.min = Math.min(sum.min, inside);
    sum.max = Math.max(sum.max, inside);
  }
}

// As a table of the page. `tracks`: keys of those that are chosen, undefined: all.
export function statisticsOf(source: Source, span: Span, at: string): Table {
  const sums = sumsOf(source, span);
  const us = (ns: number) => Math.round(ns) / 1000;
  const cells: Record<string, (row: number) => string | number> = {
    track: (i) => sums[i].track,
    name: (i) => sums[i].name,
    category: (i) => sums[i].category,
    count: (i) => sums[i].count,
    total: (i) => us(sums[i].total),
    self: (i) => us(sums[i].self),
    average: (i) => us(Math.floor(sums[i].total / sums[i].count)),
    min: (i) => us(sums[i].min),
    max: (i) => us(sums[i].max),
  };
  return new Table(
    at,
    kSliceColumns,
    [],
    { n: sums.length, columns: new Map(Object.entries(cells)) },
    0,
    `--range ${rangeText(span)}`,
  );
}

// In microseconds, as the command and the address have it.
export const rangeText = ({ from, to }: Span) => `${Math.round(from) / 1000}:${Math.round(to) / 1000}`;

export function spanOf(text: string | undefined): Span | undefined {
  const found = /^(-?\d+(?:\.\d{1,3})?):(-?\d+(?:\.\d{1,3})?)$/.exec(text ?? "");
  if (!found) return undefined;
  const [from, to] = [Math.round(Number(found[1]) * 1000), Math.round(Number(found[2]) * 1000)];
  return from <= to ? { from, to } : undefined;
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
