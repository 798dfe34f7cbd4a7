// What the panels of the Distributed view share.
import { at, type Table } from "../data/documents";

// A table below the one of the word; undefined where there is none.
export function partOf(pointer: string, key: string): string | undefined {
  return at(`${pointer}/${key}`) === undefined ? undefined : `${pointer}/${key}`;
}

export function rankText(table: Table, row: number): string {
  const rank = table.number(row, "rank");
  return rank === null ? table.text(row, "worker") : `rank ${rank}`;
}
