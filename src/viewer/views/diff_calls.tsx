// Calls of both sides beside each other, as a tree that one goes down: bars of what lies in a call, tables of it.
import { useMemo } from "preact/hooks";
import { Compare } from "../charts/compare";
import { type Table, useTable } from "../data/documents";
import { Figure, Said } from "../figure";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { Tree } from "../table/tree";
import { Panel, Switch } from "../widgets";

// What the tables may show, each for A, B, the change and its share of A.
const kFigures: [string, string][] = [
  ["calls", "Calls"],
  ["host_total_duration", "Host total"],
  ["host_self_duration", "Host self"],
  ["device_total_duration", "Device total"],
  ["device_self_duration", "Device self"],
];
const kOf = ["a_", "b_", "delta_", "percent_"];
const kNever = [
  "kind",
  "node",
  "b_name",
  "bar",
  "a_accumulated",
  "b_accumulated",
  "delta_accumulated",
  ...kOf.map((of) => `${of}total_duration`),
];

export function Calls() {
  const table = useTable("diff/tree");
  const totals = useTable("diff/totals");
  const tree = useMemo(() => table && new Tree(table), [table]);
  const [node, setNode] = useParam("node", "0");
  const [inside, setInside] = useParam("inside", "operators");
  const [figures, setFigures] = useParam("figures", "calls,host_total_duration");
  const hidden = useMemo(() => hiddenColumns(figures), [figures]);
  const focus = table && Number(node) < table.n ? Number(node) : 0;
  const inFocus = useMemo(
    () => totals && table && ((row: number) => totals.value(row, "node") === table.value(focus, "node")),
    [totals, table, focus],
  );
  if (!table || !tree || !totals || !inFocus) return <p class="loading">Opening</p>;
  if (table.n === 0) return null;
  const hasTotals = totals.rows().some(inFocus);
  const go = (row: number) => setNode(String(row));
  const asCalls = inside === "calls" || !hasTotals;
  return (
    <>
      <Panel
        title="Execution comparison"
        aside={
          <div class="choices">
            <Path table={table} tree={tree} focus={focus} go={go} />
            <button type="button" disabled={tree.parent[focus] < 0} onClick={() => go(tree.parent[focus])}>
              Go Back
            </button>
          </div>
        }>
        <Bars table={table} tree={tree} focus={focus} go={go} />
      </Panel>
      <Panel
        title={`Inside ${nameOf(table, focus)}`}
        aside={
          <div class="choices">
            <Figures there={kFigures.filter(([key]) => table.has(`a_${key}`))} value={figures} onChange={setFigures} />
            {hasTotals && (
              <Switch
                label="What lies in it"
                value={asCalls ? "calls" : "operators"}
                onChange={setInside}
                options={[
                  ["operators", "Operators"],
                  ["calls", "Calls"],
                ]}
              />
            )}
          </div>
        }>
        {asCalls ? (
          <DataTable key="calls" table={table} tree root={focus} id="call" label="calls" hidden={hidden} />
        ) : (
          <DataTable
            key="operators"
            table={totals}
            id="operator"
            label="operators"
            hidden={hidden}
            keep={inFocus}
            sort="delta_host_total_duration"
          />
        )}
      </Panel>
    </>
  );
}

function nameOf(table: Table, row: number): string {
  return table.text(row, "bar") || table.text(row, "name");
}

function hiddenColumns(figures: string): string[] {
  const shown = figures.split(",");
  return [...kNever, ...kFigures.filter(([key]) => !shown.includes(key)).flatMap(([key]) => kOf.map((of) => of + key))];
}

// Which of the figures the tables show: "Select the data you need" of the plugin.
function Figures({
  there,
  value,
  onChange,
}: {
  there: [string, string][];
  value: string;
  onChange: (value: string) => void;
}) {
  const shown = value.split(",");
  return (
    <div class="choices" role="group" aria-label="Columns">
      {there.map(([key, title]) => (
        <label key={key} class="choice">
          <input
            type="checkbox"
            checked={shown.includes(key)}
            onChange={() =>
              onChange(
                kFigures
                  .map(([one]) => one)
                  .filter((one) => (one === key) !== shown.includes(one))
                  .join(",") || "none",
              )
            }
          />
          {title}
        </label>
      ))}
    </div>
  );
}

function Path({ table, tree, focus, go }: { table: Table; tree: Tree; focus: number; go: (row: number) => void }) {
  const path: number[] = [];
  for (let row = focus; row >= 0; row = tree.parent[row]) path.unshift(row);
  return (
    <nav class="path" aria-label="Where in the tree">
      {path.map((row) =>
        row === focus ? (
          <b>
            <Said at={table.figure(row, "name")} text={table.text(row, "name")} />
          </b>
        ) : (
          <>
            <button type="button" class="plain-link" onClick={() => go(row)}>
              <Said at={table.figure(row, "name")} text={table.text(row, "name")} />
            </button>{" "}
            ›{" "}
          </>
        ),
      )}
    </nav>
  );
}

function Bars({ table, tree, focus, go }: { table: Table; tree: Tree; focus: number; go: (row: number) => void }) {
  const inside = useMemo(
    () => tree.children(table.rows())[focus].filter((row) => table.value(row, "bar") !== null),
    [table, tree, focus],
  );
  const rows = inside.length > 0 ? inside : [focus];
  const known = (row: number, key: string) => table.number(row, key) ?? 0;
  const pairs = rows.map((row) => ({
    name: nameOf(table, row),
    a: known(row, "a_total_duration"),
    b: known(row, "b_total_duration"),
    aSum: inside.length > 0 ? known(row, "a_accumulated") : known(row, "a_total_duration"),
    bSum: inside.length > 0 ? known(row, "b_accumulated") : known(row, "b_total_duration"),
  }));
  return (
    <>
      <Compare
        label="What lies in it, of A and B"
        pairs={pairs}
        unit="us"
        details={(i) => <Details table={table} row={rows[i]} />}
        onPick={inside.length > 0 ? (i) => go(rows[i]) : undefined}
      />
      <p class="notes">{inside.length > 0 ? "Click on a bar to see what lies in it." : "No more level to show."}</p>
    </>
  );
}

const kSaid: [string, string][] = [
  ["a_total_duration", "A"],
  ["b_total_duration", "B"],
  ["delta_total_duration", "Diff"],
  ["percent_total_duration", "Diff, of A"],
  ["a_accumulated", "Baseline trend"],
  ["b_accumulated", "Exp trend"],
  ["delta_accumulated", "Accumulated diff"],
  ["a_calls", "Calls A"],
  ["b_calls", "Calls B"],
];

function Details({ table, row }: { table: Table; row: number }) {
  const units = new Map(table.columns.map((c) => [c.key, c.unit]));
  return (
    <>
      <b>
        <Said at={table.figure(row, "name")} text={table.text(row, "name")} />
      </b>
      <table class="plain">
        <tbody>
          {kSaid.map(([key, title]) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              <td class="number">
                <Figure at={table.figure(row, key)} value={table.value(row, key)} unit={units.get(key)!} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
