// The documents of the page, and the tables in them, which are unpacked when a view first asks for one.
import { useEffect, useState } from "preact/hooks";
import type { Column, Documents, Elsewhere, Json, TableHead } from "./types";
import { inflate, inflateBlob, unpackTable, unpackValue, type Cell, type Cells, type Unpacked } from "./unpack";

export class Table {
  readonly n: number;
  private readonly cells: Map<string, Cells>;

  // `at`: its path in the documents, as figures name it. `options`: those of the command that prints this table, if
  // they follow from a choice made in the page ("--range 10:20").
  constructor(
    readonly at: string,
    readonly columns: Column[],
    readonly notes: string[],
    rows: Unpacked,
    readonly leftOutBytes = 0,
    readonly options = "",
  ) {
    this.n = rows.n;
    this.cells = rows.columns;
  }

  has(key: string): boolean {
    return this.cells.has(key);
  }
  value(row: number, key: string): Cell {
    const cells = this.cells.get(key);
    return cells ? cells(row) : null;
  }
  text(row: number, key: string): string {
    const value = this.value(row, key);
    return value === null ? "" : String(value);
  }
  number(row: number, key: string): number | null {
    const value = this.value(row, key);
    return typeof value === "number" ? value : null;
  }
  rows(): number[] {
    return Array.from({ length: this.n }, (_, row) => row);
  }
  // Where the number of its rows is said.
  get count(): string {
    return `${this.at}/n_rows`;
  }
  figure(row: number, key: string): string {
    return `${this.at}/rows/${row}/${key}`;
  }
}

export let documents: Documents;

export async function openDocuments(): Promise<void> {
  documents = unpackValue(await inflate("tprof-document")) as unknown as Documents;
}

// By a path such as "stats/op/workers/0"; undefined where there is none.
export function at(pointer: string): Json | undefined {
  let found: Json | undefined = documents as unknown as Json;
  for (const part of pointer.split("/")) {
    if (found === null || typeof found !== "object") return undefined;
    found = (found as Record<string, Json>)[part];
  }
  return found;
}

const tables = new Map<string, Promise<Table>>();
const values = new Map<string, Promise<Json>>();

export function loadTable(pointer: string): Promise<Table> {
  return kept(tables, pointer, async () => {
    const head = at(pointer) as unknown as TableHead;
    if (Array.isArray(head.rows))
      return new Table(pointer, head.columns, head.notes, unpackRows(head.rows, head.columns));
    if ("left_out" in head.rows)
      return new Table(pointer, head.columns, head.notes, unpackRows([], head.columns), head.rows.left_out);
    return new Table(pointer, head.columns, head.notes, unpackTable(await inflateBlob(head.rows.packed)));
  });
}

// A large value that is no table; null where it was left out of the page.
export function loadValue(pointer: string): Promise<Json> {
  return kept(values, pointer, async () => {
    const found = at(pointer) as unknown as Elsewhere;
    return "left_out" in found ? null : unpackValue(await inflateBlob(found.packed));
  });
}

// Unpacks a table whose rows are in the document itself.
function unpackRows(rows: Record<string, Cell>[], columns: Column[]): Unpacked {
  const cells = new Map(columns.map(({ key }): [string, Cells] => [key, (row) => rows[row][key] ?? null]));
  return { n: rows.length, columns: cells };
}

function kept<T>(cache: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  let made = cache.get(key);
  if (!made) cache.set(key, (made = make()));
  return made;
}

// Undefined while it is being unpacked. `pointer`: undefined where a view needs no table now.
export function useTable(pointer: string | undefined): Table | undefined {
  return useLoaded(pointer, loadTable);
}
export function useValue(pointer: string | undefined): Json | undefined {
  return useLoaded(pointer, loadValue);
}

function useLoaded<T>(pointer: string | undefined, load: (pointer: string) => Promise<T>): T | undefined {
  const [loaded, set] = useState<{ pointer: string; value: T }>();
  useEffect(() => {
    let wanted = true;
    if (pointer !== undefined) load(pointer).then((value) => wanted && set({ pointer, value }));
    return () => {
      wanted = false;
    };
  }, [pointer]);
  return loaded && loaded.pointer === pointer ? loaded.value : undefined;
}
