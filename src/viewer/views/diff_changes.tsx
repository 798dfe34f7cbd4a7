// What changed by category, operator, kernel and module, per step: what is more than noise, and how sure that is.
import { useMemo } from "preact/hooks";
import { Intervals } from "../charts/intervals";
import { documents, type Table, useTable } from "../data/documents";
import type { DiffDocument } from "../data/types";
import { Figure, Said } from "../figure";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { Panel, Switch } from "../widgets";

// Kinds of rows, as `tprof diff --json` names them.
const kKinds: [string, string][] = [
  ["category", "Category"],
  ["operator_host", "Operator, host"],
  ["operator_device", "Operator, device"],
  ["kernel", "Kernel"],
  ["module", "Module"],
];
const kDrawn = 10;

// One run on a side: its steps are the sample, and how far runs of one program differ is not known.
export const isOfSteps = (found: DiffDocument) => found.sample !== "runs";

export function Changes() {
  const table = useTable("diff");
  const [chosen, setBy] = useParam("by", "category");
  const [only, setOnly] = useParam("only");
  const kinds = useMemo(() => kKinds.filter(([kind]) => table && rowsOf(table, kind).length > 0), [table]);
  const by = kinds.find(([kind]) => kind === chosen)?.[0] ?? kinds[0]?.[0];
  const keep = useMemo(
    () => (row: number) =>
      table!.value(row, "by") === by && (only !== "changed" || table!.value(row, "changed") === true),
    [table, by, only],
  );
  if (!table) return <p class="loading">Opening</p>;
  if (!by)
    return (
      <Panel title="What changed">
        <p class="empty">Neither side has anything that could be compared.</p>
      </Panel>
    );
  const drawn = rowsOf(table, by).filter(keep).slice(0, kDrawn);
  return (
    <Panel
      title="What changed, per step"
      aside={
        <div class="choices">
          <Switch
            label="Rows"
            value={only}
            options={[
              ["", "All"],
              ["changed", isOfSteps(documents.diff!) ? "More than noise of steps" : "More than noise"],
            ]}
            onChange={setOnly}
          />
          <Switch label="Kind of rows" value={by} options={kinds} onChange={setBy} />
        </div>
      }>
      {drawn.length === 0 ? (
        <p class="empty">No change of these is more than noise.</p>
      ) : (
        <>
          <Intervals
            unit="us"
            label="Largest changes, with the interval in which each lies with 95 % certainty"
            items={drawn.map((row) => ({
              name: <Said at={table.figure(row, "name")} text={table.text(row, "name")} />,
              figure: <Figure at={table.figure(row, "delta_us")} value={table.value(row, "delta_us")} unit="us" />,
              value: table.number(row, "delta_us") ?? 0,
              low: table.number(row, "low_us"),
              high: table.number(row, "high_us"),
              sure: table.value(row, "changed") === true,
            }))}
          />
          <p class="notes" data-label>
            Lines: where the change lies, with 95 % certainty. Pale bars: no more than noise, or not known.
          </p>
          <DataTable table={table} id="change" label="changes" keep={keep} hidden={["by", "smallest_us"]} />
        </>
      )}
    </Panel>
  );
}

function rowsOf(table: Table, kind: string): number[] {
  return table.rows().filter((row) => table.value(row, "by") === kind);
}
