// nn.Modules, forward and backward, as a tree and as a flame graph. If the page holds them also: the call tree of each
// thread, the cost of source lines, samples of Python, and Lightning's calls.
import { useMemo } from "preact/hooks";
import { colorOf } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { type Bars, Flame } from "../charts/flame";
import { stacked } from "../charts/flame_bars";
import { at, type Table, useTable } from "../data/documents";
import { Figure, Said } from "../figure";
import { shortName } from "../format";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { Tree } from "../table/tree";
import { Panel, Select, Switch } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { WordTable } from "./words";

const kNone = "no nn.Modules were recorded (tprof-run --with-modules)";

// The tables of the view: the word of `tprof stats`, and what is said of one without rows.
const kParts: { word: string; title: string; tab?: string; tree: boolean; none: string }[] = [
  { word: "module", title: "Modules", tree: true, none: `${kNone[0].toUpperCase()}${kNone.slice(1)}.` },
  { word: "tree", title: "Operator tree", tree: true, none: "No operators were recorded." },
  {
    word: "line",
    title: "Source lines",
    tree: false,
    none: "No call stacks were recorded (tprof-run --with-stack=1).",
  },
  {
    word: "python",
    title: "Python functions",
    tree: false,
    none: "Python was not sampled (tprof-run --sample=python).",
  },
  {
    word: "timeline",
    title: "Ranges of the main thread",
    tab: "Main thread",
    tree: true,
    none: "No operators were recorded.",
  },
  { word: "lightning", title: "Lightning", tree: true, none: "No calls of Lightning were recorded." },
];

const kOfSamples: [string, string][] = [
  ["lines", "Python lines"],
  ["natives", "Native functions"],
  ["threads", "Sampled threads"],
];

const kHidden = ["kind", "thread", "end", "mean_duration", "host_mean_duration", "device_mean_duration"];
const kBars = ["host_self_duration", "device_self_duration"]; // totals of a tree are those of its root above all

export function modulesAbsent(worker: number): string | undefined {
  return kParts.some(({ word }) => rowsOf(word, worker) > 0) ? undefined : kNone;
}

export function Modules({ worker }: { worker: number }) {
  const there = kParts.filter(({ word }) => word === "module" || rowsOf(word, worker) > 0);
  const [show, setShow] = useParam("show", there.find(({ word }) => rowsOf(word, worker) > 0)!.word);
  const part = there.find(({ word }) => word === show) ?? there[0];
  const table = useTable(pointerOf(part.word, worker));
  const [zoomed] = useParam("zoom");
  const choice = there.length > 1 && (
    <Switch
      label="Show"
      value={part.word}
      options={there.map(({ word, title, tab }) => [word, tab ?? title])}
      onChange={setShow}
    />
  );
  if (!table) return <p class="loading">Opening</p>;
  return (
    <>
      {choice}
      {part.tree && table.n > 0 && <Graph key={part.word} table={table} title={part.title} />}
      <Panel title={part.title}>
        <DataTable
          key={part.word}
          table={table}
          tree={part.tree}
          root={part.tree ? rowOf(zoomed, table) : -1}
          label={`table of ${part.title.toLowerCase()}`}
          hidden={kHidden}
          bars={kBars}
          empty={part.none}
        />
      </Panel>
      {part.word === "module" && table.n > 0 && <Classes at={`${table.at}/classes`} />}
      {part.word === "python" &&
        kOfSamples
          .filter(([name]) => at(`${table.at}/${name}`) !== undefined)
          .map(([name, title]) => <WordTable word="python" part={name} title={title} worker={worker} />)}
    </>
  );
}

// The row that a graph is zoomed to, and a table begins at; -1: none.
function rowOf(text: string, table: Table): number {
  return text !== "" && Number(text) >= 0 && Number(text) < table.n ? Number(text) : -1;
}

// Modules of one class together.
function Classes({ at: pointer }: { at: string }) {
  const table = useTable(at(pointer) === undefined ? undefined : pointer);
  return table ? (
    <Panel title="Classes of modules">
      <DataTable table={table} id="class" label="table of classes of modules" hidden={kHidden} bars={kBars} />
    </Panel>
  ) : null;
}

// What bars of the graph are as wide as.
const kWidths: [string, string][] = [
  ["host_total_duration", "Host"],
  ["device_total_duration", "Device"],
  ["backward_host_duration", "Backward, host"],
  ["backward_device_duration", "Backward, device"],
];
// What is said of a bar, besides its name.
const kSaid = [
  "begin",
  "duration",
  "occurrences",
  "calls",
  "operators",
  "mean_duration",
  "host_total_duration",
  "host_self_duration",
  "device_total_duration",
  "device_self_duration",
  "backward_host_duration",
  "backward_device_duration",
  "parameters",
];

// Kinds of rows, as --json names them.
const kKinds: Record<string, string> = {
  op: "Operator",
  label: "User annotation",
  step: "Step",
  call: "CUDA call",
  module: "nn.Module",
  python: "Python function",
  data_loader: "DataLoader",
  optimizer: "Optimizer",
  lightning: "Lightning",
  backward: "Backward",
  thread: "Thread",
};

function Graph({ table, title }: { table: Table; title: string }) {
  const tree = useMemo(() => new Tree(table), [table]);
  const tops = useMemo(() => tree.below(-1).filter((row) => tree.depth[row] === 0), [tree]);
  const widths = useMemo(() => kWidths.filter(([key]) => sumOf(table, key, tops) > 0), [table, tops]);
  const [chosen, setKey] = useParam("width");
  const [top, setTop] = useParam("root");
  const [zoomed, setZoomed] = useParam("zoom");
  const key = (widths.find(([one]) => one === chosen) ?? widths[0])?.[0] ?? "";
  const colors = useMemo(() => colorsOf(table), [table]);
  const roots = useMemo(() => (top !== "" && tops.includes(Number(top)) ? [Number(top)] : tops), [tops, top]);
  const bars = useMemo(
    () =>
      table.has("begin") ? timesOf(table, tree, roots) : stacked(tree, roots, (row) => table.number(row, key) ?? 0),
    [table, tree, roots, key],
  );
  const zoom = rowOf(zoomed, table);
  const name = (row: number) => shortName(table.text(row, "name"));
  const look = useMemo(() => ({ name, color: colors.of }), [table, colors]);
  const options = tops.map((row): [string, string] => [String(row), name(row)]);
  return (
    <Panel
      title={table.has("begin") ? title : `${title}, as a flame graph`}
      aside={
        <div class="choices">
          {tops.length > 1 && !table.has("begin") && (
            <Select
              label={table.has("thread") ? "Thread" : "Module"}
              value={top}
              options={[["", "all"], ...options]}
              onChange={(row) => {
                setZoomed("");
                setTop(row);
              }}
            />
          )}
          {zoom >= 0 && (
            <button type="button" onClick={() => setZoomed("")}>
              Whole graph
            </button>
          )}
          {widths.length > 1 && <Switch label="Width of the bars" value={key} options={widths} onChange={setKey} />}
        </div>
      }>
      {table.has("kind") && (
        <ul class="legend flat">
          {[...colors.names].map(([kind, color]) => (
            <li>
              <Swatch color={color} />
              {kKinds[kind] ?? kind}
            </li>
          ))}
        </ul>
      )}
      <Flame
        label={`${title}: bars are as wide as their time`}
        bars={bars}
        look={look}
        timed={table.has("begin")}
        zoomed={zoom}
        onZoom={(row) => setZoomed(row < 0 ? "" : String(row))}
        details={(row) => <Details table={table} row={row} />}
      />
      <p class="notes">
        {table.has("begin") ? "Bars lie where their time is. " : "Bars are as wide as the time of all calls together. "}
        Click on a bar to see what it holds.
      </p>
    </Panel>
  );
}

function timesOf(table: Table, tree: Tree, roots: number[]): Bars {
  const from = Float64Array.from({ length: table.n }, (_, row) => table.number(row, "begin") ?? NaN);
  const to = from.map((begin, row) => begin + (table.number(row, "duration") ?? NaN));
  return { n: table.n, parent: tree.parent, level: tree.depth, from, to, roots };
}

function Details({ table, row }: { table: Table; row: number }) {
  const known = table.columns.filter((c) => kSaid.includes(c.key) && table.value(row, c.key) !== null);
  return (
    <>
      <b>
        <Said at={table.figure(row, "name")} text={table.text(row, "name")} />
      </b>
      <table class="plain">
        <tbody>
          {known.map((c) => (
            <tr key={c.key}>
              <th scope="row">{c.title}</th>
              <td class="number">
                <Figure at={table.figure(row, c.key)} value={table.value(row, c.key)} unit={c.unit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function sumOf(table: Table, key: string, rows: number[]): number {
  return rows.reduce((sum, row) => sum + (table.number(row, key) ?? 0), 0);
}

// By what a row is. Of modules by their class: Linear_0 and Linear_1 have one colour.
function colorsOf(table: Table): { of: (row: number) => string; names: Map<string, string> } {
  const names = new Map<string, string>();
  const kinds = table.rows().map((row) =>
    table.has("kind")
      ? table.text(row, "kind")
      : table
          .text(row, "name")
          .trim()
          .replace(/[_#]\d+$/, ""),
  );
  const order = Object.keys(kKinds); // a kind has one colour in all graphs
  for (const kind of kinds)
    if (!names.has(kind)) names.set(kind, colorOf(order.includes(kind) ? order.indexOf(kind) : names.size));
  return { of: (row) => names.get(kinds[row])!, names };
}
