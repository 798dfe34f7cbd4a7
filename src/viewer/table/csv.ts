// Rows as CSV (RFC 4180): exact values, in the units of the columns, as --csv of the commands.
import type { Table } from "../data/documents";
import type { Column } from "../data/types";

export function csvOf(table: Table, columns: Column[], rows: number[]): string {
  const lines = [columns.map((c) => field(c.key)).join(",")];
  for (const row of rows) lines.push(columns.map((c) => field(table.value(row, c.key))).join(","));
  return lines.join("\r\n") + "\r\n";
}

function field(value: unknown): string {
  let text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet would take it for a formula, and run it.
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission, as in Firefox from a file: by way of a selection.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
