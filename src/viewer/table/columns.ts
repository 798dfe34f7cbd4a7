// Columns of a table: what they are called, which are shown, how wide they are, and what a click on a title sorts by.
import type { Table } from "../data/documents";
import type { Column } from "../data/types";
import { formatChange, isChange } from "../format";
import { titles } from "../texts";
import { exampleOf } from "./rows";
import type { Tree } from "./tree";

// What the table can be searched for: its first number serves as the example.
export function hintOf(words: string, columns: Column[]): string {
  const number = columns.find((c) => c.key === "calls") ?? columns.find(isNumber);
  return number ? `${words}, or ${exampleOf(number)}` : words;
}

export const titleOf = (c: Column) => c.title || titles[c.key] || c.key;

// The title of a column. For a change it includes what changes, which the title of a column beside it has: "CPU total
// A".
export function fullTitle(table: Table, c: Column): string {
  const of = table.columns
    .find((one) => one.key === `a_${c.key.replace(/^(delta|percent)_/, "")}`)
    ?.title.replace(/ ?A$/, "");
  return of && isChange(c.key) ? `${of}: ${titleOf(c)}` : titleOf(c);
}

export const isNumber = (c: Column) => c.unit !== "text" && c.unit !== "yes/no";

export function hasValues(table: Table, column: Column): boolean {
  for (let row = 0; row < table.n; row++) if (![null, ""].includes(table.value(row, column.key) as null)) return true;
  return false;
}

export function chosenColumns(table: Table, valued: Column[], chosen: string, hidden: string[]): Column[] {
  if (chosen === "all") return table.columns;
  if (chosen) {
    const keys = chosen.split(",");
    const found = table.columns.filter((c) => keys.includes(c.key));
    if (found.length > 0) return found;
  }
  return valued.filter((c) => !hidden.includes(c.key));
}

export function chosenWith(shown: Column[], column: Column, all: Column[]): string {
  const next = all.filter((c) => (c === column ? !shown.includes(c) : shown.includes(c)));
  return next.map((c) => c.key).join(",");
}

// Numbers begin largest first, texts with A; a second click turns the order, a third one takes it back.
export function nextSort(column: Column, key: string, up: boolean, otherwise: string): string {
  const first = !isNumber(column);
  if (key !== column.key) return column.key;
  if (up === first) return `${column.key}:${first ? "down" : "up"}`;
  return otherwise;
}

// In characters, of the first rows, so that columns do not move while one scrolls. A first text that is longer than its
// column takes what room is left; else that room is at the right.
export function widthsOf(
  table: Table,
  columns: Column[],
  briefStacks: boolean,
  keep: (row: number) => boolean = () => true,
  tree?: Tree,
): { widths: Record<string, number>; elastic?: Column } {
  const widths: Record<string, number> = {};
  let elastic: Column | undefined;
  const first: number[] = [];
  for (let row = 0; row < table.n && first.length < 500; row++) if (keep(row)) first.push(row);
  for (const c of columns) {
    const most = c.key === "call_stack" ? (briefStacks ? 40 : 90) : c.key === "name" ? 48 : 28;
    const deeper = (row: number) => (tree && c === columns[0] ? 4.5 + (tree.indent * tree.depth[row]) / 7 : 0);
    const words = titleOf(c).split(" "); // in at most three lines
    let width = Math.max(...words.map((word) => word.length), (c.title.length * 2) / Math.min(4, words.length + 1)) + 1;
    for (const row of first) {
      const { length } = formatChange(table.value(row, c.key), c.unit).trim();
      const perCharacter = isNumber(c) || length < 16 ? 1 : 0.95; // short names may consist of digits, which are wider
      width = Math.max(width, length * perCharacter + 0.5 + deeper(row));
    }
    if (width > most && (!elastic || (briefStacks && c.key === "call_stack"))) elastic = c;
    widths[c.key] = Math.min(width, most) + 2;
  }
  return { widths, elastic };
}

// The largest value of each column whose cells have bars. A change in percent is not a share of anything.
export function largestOf(table: Table, columns: Column[], bars: string[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const c of columns) {
    out[c.key] = 0;
    if (!bars.includes(c.key) && (c.unit !== "percent" || isChange(c.key))) continue;
    for (let row = 0; row < table.n; row++) out[c.key] = Math.max(out[c.key], table.number(row, c.key) ?? 0);
  }
  return out;
}
