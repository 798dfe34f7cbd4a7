// Each step of each rank: bars by rank for one step or their mean, and all of them as a field.
import { useMemo } from "preact/hooks";
import { StackedBars } from "../charts/bars";
import { categoryColor } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { HeatMap } from "../charts/heat";
import { useTable, type Table } from "../data/documents";
import { Figure, Said } from "../figure";
import { useParam, useParams } from "../state";
import { DataTable } from "../table/table";
import { Panel, Select, Switch } from "../widgets";
import { pointerOf } from "../worker";
import { partOf, rankText } from "./distributed_parts";

// Which rows of the table of steps are which rank's and step's.
interface Grid {
  steps: string[]; // "all", the mean, first
  ranks: string[];
  row: (rank: number, step: string) => number | undefined;
}

function gridOf(table: Table): Grid {
  const [steps, workers, ranks, rows] = [
    new Set<string>(),
    new Map<string, number>(),
    [] as string[],
    new Map<string, number>(),
  ];
  for (let row = 0; row < table.n; row++) {
    const [step, worker] = [table.text(row, "step"), table.text(row, "worker")];
    steps.add(step);
    if (!workers.has(worker)) {
      workers.set(worker, ranks.length);
      ranks.push(rankText(table, row));
    }
    rows.set(`${workers.get(worker)} ${step}`, row);
  }
  return { steps: [...steps], ranks, row: (rank, step) => rows.get(`${rank} ${step}`) };
}

const kParts = ["computation", "overlapping", "communication", "other"];
const kWaiting = ["data_transfer", "synchronizing", "undivided"];
const kMean = "all"; // as the plugin calls it

export function Steps({ table }: { table: Table }) {
  const { params, set } = useParams();
  const grid = useMemo(() => gridOf(table), [table]);
  const step = grid.steps.includes(params.step) ? params.step : grid.steps[0];
  const asTable = params.steps === "table" || params.rows === "all";
  const keep = useMemo(
    () => (params.step ? (row: number) => table.text(row, "step") === params.step : undefined),
    [table, params.step],
  );
  if (table.n === 0)
    return (
      <Panel title="Steps of each rank">
        <p class="empty">No steps: what a rank did in each is not known.</p>
      </Panel>
    );
  const choose = (one: string) => set({ step: one === grid.steps[0] && !asTable ? "" : one });
  const control = (
    <div class="tools">
      <Select
        label="Step"
        value={asTable && !params.step ? "" : step}
        onChange={choose}
        options={[
          ...(asTable ? [["", "all steps"] as [string, string]] : []),
          ...grid.steps.map((one): [string, string] => [one, one === kMean ? "all (mean)" : one]),
        ]}
      />
      <Switch
        label="Show steps as"
        value={asTable ? "table" : "bars"}
        options={[
          ["bars", "Bars"],
          ["table", "Table"],
        ]}
        onChange={(value) => set({ steps: value === "table" ? "table" : "" })}
      />
    </div>
  );
  if (asTable)
    return (
      <Panel title="Steps of each rank" aside={control} name="shorter">
        <DataTable table={table} id="steps" label="each rank in each step" keep={keep} />
      </Panel>
    );
  return (
    <>
      <div class="pair">
        <Panel title="Computation and communication" aside={control}>
          <Bars
            table={table}
            grid={grid}
            step={step}
            keys={kParts}
            label="Computation and communication of each rank"
          />
        </Panel>
        <Panel title="Synchronizing and data transfer">
          <Bars
            table={table}
            grid={grid}
            step={step}
            keys={kWaiting}
            label="Synchronizing and data transfer of each rank"
          />
        </Panel>
      </div>
      <Heat table={table} grid={grid} step={step} choose={choose} />
    </>
  );
}

const titleOf = (table: Table, key: string) => table.columns.find((c) => c.key === key)!.title;

// Columns that hold anything in some row: "Either" is there only where collectives could not be divided.
function present(table: Table, keys: string[]): string[] {
  return keys.filter(
    (key) =>
      table.has(key) &&
      Array.from({ length: table.n }, (_, row) => table.number(row, key)).some(
        (v) => v !== null && (v > 0 || key !== "undivided"),
      ),
  );
}

function Bars({
  table,
  grid,
  step,
  keys,
  label,
}: {
  table: Table;
  grid: Grid;
  step: string;
  keys: string[];
  label: string;
}) {
  const shown = useMemo(() => present(table, keys), [table]);
  if (shown.length === 0)
    return <p class="empty">Not known: the traces do not tell when collectives began on each rank.</p>;
  const parts = shown.map((key) => ({ name: titleOf(table, key), color: categoryColor(titleOf(table, key)) }));
  return (
    <StackedBars
      label={label}
      unit="us"
      parts={parts}
      names={grid.ranks}
      value={(rank, part) => {
        const row = grid.row(rank, step);
        return row === undefined ? null : table.number(row, shown[part]);
      }}
      details={(rank) => <CellDetails table={table} row={grid.row(rank, step)} keys={shown} />}
    />
  );
}

// What one rank did in one step.
function CellDetails({ table, row, keys }: { table: Table; row: number | undefined; keys: string[] }) {
  if (row === undefined) return <p>This rank has no such step.</p>;
  return (
    <>
      <b>
        <bdi>{rankText(table, row)}</bdi>, step <Said at={table.figure(row, "step")} text={table.text(row, "step")} />
      </b>
      <p class="muted">
        <Said at={table.figure(row, "worker")} text={table.text(row, "worker")} />
      </p>
      <table class="plain">
        <tbody>
          {keys.map((key) => (
            <tr key={key}>
              <th scope="row">
                <Swatch color={categoryColor(titleOf(table, key))} />
                {titleOf(table, key)}
              </th>
              <td class="number">
                <Figure at={table.figure(row, key)} value={table.value(row, key)} unit="us" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Heat({
  table,
  grid,
  step,
  choose,
}: {
  table: Table;
  grid: Grid;
  step: string;
  choose: (step: string) => void;
}) {
  const figures = useMemo(
    () => present(table, ["total", "synchronizing", "data_transfer", "computation", "communication", "other"]),
    [table],
  );
  const [of, setOf] = useParam("heat", figures[0]);
  const key = figures.includes(of) ? of : figures[0];
  const steps = grid.steps.filter((one) => one !== kMean);
  if (steps.length < 2) return null; // the bars say all
  return (
    <Panel
      title="Ranks and steps"
      aside={
        <Switch
          label="Colour by"
          value={key}
          onChange={setOf}
          options={figures.map((one) => [one, one === "total" ? "Step time" : titleOf(table, one)])}
        />
      }>
      <HeatMap
        label={`${titleOf(table, key)} of each rank in each step`}
        rows={grid.ranks}
        columns={steps}
        unit="us"
        chosen={steps.includes(step) ? steps.indexOf(step) : undefined}
        onPick={(column) => choose(steps[column])}
        value={(rank, column) => {
          const row = grid.row(rank, steps[column]);
          return row === undefined ? null : table.number(row, key);
        }}
        details={(rank, column) => (
          <CellDetails
            table={table}
            row={grid.row(rank, steps[column])}
            keys={["total", ...present(table, [...kParts, ...kWaiting])]}
          />
        )}
      />
    </Panel>
  );
}

// The field alone, for the overview of a job: a click goes to that step of the Distributed view.
export function RanksAndSteps({ worker }: { worker: number }) {
  const { set } = useParams();
  const pointer = pointerOf("comm", worker);
  const table = useTable(pointer && partOf(pointer, "steps"));
  const grid = useMemo(() => table && gridOf(table), [table]);
  if (!table || !grid || grid.ranks.length < 2) return null;
  return <Heat table={table} grid={grid} step="" choose={(step) => set({ view: "distributed", step }, false)} />;
}
