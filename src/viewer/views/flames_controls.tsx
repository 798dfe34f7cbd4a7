// What a flame graph is made of and how it is shown: source, width, thread, order; and what is hidden in it.
import { useMemo } from "preact/hooks";
import type { Table } from "../data/documents";
import type { Chosen } from "../flame/choice";
import type { Contexts } from "../flame/contexts";
import { selfKey, threadsOf } from "../flame/from_table";
import { Select, Switch } from "../widgets";

export interface Shared {
  table: Table;
  contexts: Contexts;
  costs: string[];
  cost: string;
  chosen: Chosen;
  set: (changes: Partial<Chosen>) => void;
}

const kOrders: [Chosen["order"], string][] = [
  ["left", "Left heavy"],
  ["inverted", "Bottom up"],
  ["sandwich", "Sandwich"],
];

export function Controls({
  table,
  costs,
  cost,
  chosen,
  set,
  sources,
  source,
}: Shared & { sources: [string, string][]; source: string }) {
  const threads = useMemo(() => threadsOf(table, cost), [table, cost]);
  const widths = useMemo(() => costs.filter((key) => key !== "calls" && isKnown(table, key)), [table]);
  const title = (key: string) => table.columns.find((column) => column.key === key)!.title;
  const framed = ["sampled", "python", "gpu"].includes(source);
  return (
    <div class="choices">
      <Switch
        label="Source"
        value={source}
        options={sources}
        onChange={(word) => set({ source: word, hidden: [], without: [], of: "", thread: "" })}
      />
      <Select
        label="Width"
        value={cost}
        options={(widths.includes(cost) ? widths : [cost, ...widths]).map((key) => [key, title(key)])}
        onChange={(key) => set({ cost: key })}
      />
      {threads.length > 1 && (
        <Select
          label="Thread"
          value={chosen.thread}
          options={[["", `all ${threads.length}, merged`], ...threads]}
          onChange={(thread) => set({ thread })}
        />
      )}
      <Switch
        label="Order"
        value={chosen.order}
        options={kOrders}
        onChange={(order) => set({ order: order as Chosen["order"] })}
      />
      {framed && (
        <Switch
          label="Frames"
          value={chosen.lines ? "lines" : "functions"}
          options={[
            ["functions", "Functions"],
            ["lines", "Lines"],
          ]}
          onChange={(one) => set({ lines: one === "lines", hidden: [], without: [], of: "" })}
        />
      )}
    </div>
  );
}

const isKnown = (table: Table, key: string) => table.rows().some((row) => (table.number(row, selfKey(key)) ?? 0) > 0);

// A key of a frame, or of a library, to be read.
const textOf = (key: string) => (key.startsWith("library ") ? "all of " : "") + key.replace(/^\S+ /, "");

// What was taken out, to be brought back.
export function Hidden({ chosen, set }: Shared) {
  if (chosen.hidden.length + chosen.without.length === 0) return null;
  const list = (name: "hidden" | "without", title: string, hint: string) =>
    chosen[name].length > 0 && (
      <span class="choices" role="group" aria-label={title}>
        <span class="muted" title={hint}>
          {title}:
        </span>
        {chosen[name].map((key) => (
          <button
            type="button"
            class="chip"
            key={key}
            title="Bring it back"
            onClick={() => set({ [name]: chosen[name].filter((one) => one !== key) })}>
            <bdi>{textOf(key)}</bdi>
            <span aria-hidden="true"> ×</span>
            <span class="hidden">: bring it back</span>
          </button>
        ))}
      </span>
    );
  return (
    <p class="choices hidden-frames">
      {list("hidden", "Hidden", "Taken out of the stacks: their time is that of their callers")}
      {list("without", "Left out", "Stacks with them are left out, with their time")}
      <button type="button" onClick={() => set({ hidden: [], without: [] })}>
        Bring all back
      </button>
    </p>
  );
}
