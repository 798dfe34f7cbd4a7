// Which rows of a table are shown, and in which order: search, filters and sorting.
//
// A search consists of words, all of which must occur in the texts of a row, and of comparisons:
// calls>100 host_self_duration>5ms "two words". A column is named by its key, or by its title without blanks; a number
// may have the unit ms, s, KB, MB, GB or %.
import type { Column } from "../data/types";
import type { Table } from "../data/documents";
import type { Cell } from "../data/unpack";
import { isChange } from "../format";

const kComparison = /^(.+?)(>=|<=|>|<|=)(-?[\d.]+)(\D*)$/;
const kScales: Record<string, number> = {
  us: 1,
  µs: 1,
  ms: 1e3,
  s: 1e6,
  b: 1,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
  "%": 1,
};

type Test = (row: number) => boolean;

export function columnNamed(columns: Column[], word: string): Column | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/\s/g, "");
  return (
    columns.find((c) => c.key.toLowerCase() === word.toLowerCase()) ??
    columns.find((c) => plain(c.title) === plain(word))
  );
}

// How a comparison with that column is written.
export function exampleOf(column: Column): string {
  const limits: Record<string, string> = { us: "1ms", bytes: "1MB", percent: "10%" };
  const name = column.key.includes("_") && column.title ? column.title.toLowerCase().replace(/\s/g, "") : column.key;
  return `${name}>${limits[column.unit] ?? "100"}`;
}

// Words of a search that look like comparisons, with columns that are none: they were searched as words.
export function unknownColumns(table: Table, search: string): string[] {
  const words = search.match(/"[^"]*"?|\S+/g) ?? [];
  const names = words.filter((word) => !word.startsWith('"')).map((word) => kComparison.exec(word)?.[1]);
  return names.filter((name) => name !== undefined && !columnNamed(table.columns, name)) as string[];
}

export function tests(table: Table, search: string, searchIn?: string[]): Test[] {
  const texts = table.columns.filter((c) => c.unit === "text" && (!searchIn || searchIn.includes(c.key)));
  const words = search.match(/"[^"]*"?|\S+/g) ?? [];
  return words.map((word) => {
    const found = kComparison.exec(word);
    const column = found && columnNamed(table.columns, found[1]);
    if (found && column && column.unit !== "text") {
      const limit = Number(found[3]) * (kScales[found[4].toLowerCase()] ?? 1);
      return (row) => {
        const value = table.number(row, column.key);
        return value !== null && compares(value, found[2], limit);
      };
    }
    const wanted = word.replace(/^"|"$/g, "").toLowerCase();
    return (row) => texts.some((c) => table.text(row, c.key).toLowerCase().includes(wanted));
  });
}

function compares(value: number, how: string, limit: number): boolean {
  switch (how) {
    case ">":
      return value > limit;
    case "<":
      return value < limit;
    case ">=":
      return value >= limit;
    case "<=":
      return value <= limit;
    default:
      return value === limit;
  }
}

// key, or key:up. Numbers come largest first, texts from A on, unknown values last.
export function shownRows(
  table: Table,
  search: string,
  sort: string,
  keep: Test = () => true,
  searchIn?: string[],
): number[] {
  const all = tests(table, search, searchIn);
  const rows: number[] = [];
  for (let row = 0; row < table.n; row++) if (keep(row) && all.every((test) => test(row))) rows.push(row);
  const [key, way] = sort.split(":");
  const column = table.columns.find((c) => c.key === key);
  if (!column) return rows;
  const isText = column.unit === "text" || column.unit === "yes/no";
  const up = way === undefined ? isText : way === "up";
  const values: Cell[] = [];
  // Changes are sorted by their size, regardless of the sign.
  for (const row of rows) values[row] = isChange(key) ? size(table.value(row, key)) : table.value(row, key);
  return rows.sort((a, b) => order(values[a], values[b], up) || a - b);
}

function size(value: Cell): Cell {
  return typeof value === "number" ? Math.abs(value) : value;
}

function order(a: Cell, b: Cell, up: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const less = typeof a === "string" || typeof b === "string" ? String(a) < String(b) : a < b;
  if (a === b) return 0;
  return less === up ? -1 : 1;
}
