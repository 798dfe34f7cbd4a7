// What the table consists of: a cell, the first column of a tree, the space of rows that are out of sight, a button.
import { useState } from "preact/hooks";
import type { Table } from "../data/documents";
import type { Column } from "../data/types";
import { Figure, Said } from "../figure";
import { isNumber } from "./columns";
import { copyText } from "./csv";
import { BriefFrame, Frames } from "./frames";
import { Tree } from "./tree";

export function Cell({
  table,
  row,
  column,
  first,
  largest,
  briefStacks,
}: {
  table: Table;
  row: number;
  column: Column;
  first: boolean;
  largest: number;
  briefStacks: boolean;
}) {
  const value = table.value(row, column.key);
  if (column.key === "call_stack" && briefStacks)
    return (
      <td>
        <BriefFrame stack={value} at={table.figure(row, column.key)} options={table.options} />
      </td>
    );
  if (column.key === "call_stack" || column.title === "Source Location")
    return column.key !== "call_stack" ? (
      <td>
        <BriefFrame stack={value} at={table.figure(row, column.key)} options={table.options} />
      </td>
    ) : (
      <td class="stack">
        <Frames stack={value} at={table.figure(row, column.key)} options={table.options} />
      </td>
    );
  if (typeof value === "boolean")
    return (
      <td>
        <Figure at={table.figure(row, column.key)} value={value} unit={column.unit} />
      </td>
    );
  if (!isNumber(column)) {
    const text = value === null ? null : String(value);
    return (
      <td
        class={first ? "first" : undefined}
        title={text !== null && text.length > 24 ? text.slice(0, 4000) : undefined}>
        <Said at={table.figure(row, column.key)} text={text} options={table.options} />
      </td>
    );
  }
  const share =
    typeof value !== "number" || !(largest > 0)
      ? 0
      : Math.max(0, column.unit === "percent" ? Math.min(100, value) : (100 * value) / largest);
  return (
    <td class="number">
      {share > 0 && <span class="bar" style={{ width: `${share}%` }} />}
      <Figure at={table.figure(row, column.key)} value={value} unit={column.unit} options={table.options} />
    </td>
  );
}

// The first column of a tree.
export function Branch({
  table,
  tree,
  level,
  row,
  column,
  open,
  onToggle,
}: {
  table: Table;
  tree: Tree;
  level: number;
  row: number;
  column: Column;
  open: boolean;
  onToggle: () => void;
}) {
  const name = table.text(row, column.key);
  const leftOut = table.number(row, "left_out");
  const key = (e: KeyboardEvent) => {
    if (e.key !== (open ? "ArrowLeft" : "ArrowRight")) return;
    e.preventDefault();
    onToggle();
  };
  return (
    <td
      class="branch first"
      title={name.length > 24 ? name.slice(0, 4000) : undefined}
      ref={(td) => {
        if (td) td.style.paddingLeft = `${4 + tree.indent * level}px`;
      }}>
      {tree.isLeaf[row] ? (
        <span class="twig" />
      ) : (
        <button
          type="button"
          class="twig"
          aria-expanded={open}
          aria-label={name.trim()}
          onClick={onToggle}
          onKeyDown={key}>
          {open ? "▾" : "▸"}
        </button>
      )}
      <Said at={table.figure(row, column.key)} text={name} />
      {leftOut ? (
        <span class="muted">
          {" "}
          and <Figure at={table.figure(row, "left_out")} value={leftOut} unit="count" /> below
        </span>
      ) : null}
    </td>
  );
}

export function Gap({ height }: { height: number }) {
  return (
    <tr aria-hidden="true" class="gap">
      <td
        ref={(td) => {
          if (td) td.style.height = `${height}px`;
        }}></td>
    </tr>
  );
}

export function CopyButton({ text }: { text: () => string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      title="Copy the rows and columns shown, with exact values"
      onClick={async () => {
        await copyText(text());
        setDone(true);
        setTimeout(() => setDone(false), 1500);
      }}>
      {done ? "Copied" : "Copy as CSV"}
    </button>
  );
}
