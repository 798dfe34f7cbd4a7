// Operators: rings of device and host time, self or total, and the table with its call stacks.
import { useMemo } from "preact/hooks";
import { colorOf } from "../charts/colors";
import { Donut, withOthers, type Slice } from "../charts/donut";
import { type Table, useTable } from "../data/documents";
import { Derived, Figure } from "../figure";
import { useParam, useParams } from "../state";
import { DataTable } from "../table/table";
import { Loading, Panel, Switch } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { TopN } from "./topn";

export function operatorsAbsent(worker: number): string | undefined {
  return rowsOf("op", worker) > 0 ? undefined : "no operators in this trace";
}

const kRings: { of: string; key: string; title: string }[] = [
  { of: "self", key: "device_self_duration", title: "Device self time" },
  { of: "self", key: "host_self_duration", title: "Host self time" },
  { of: "total", key: "device_total_duration", title: "Device total time" },
  { of: "total", key: "host_total_duration", title: "Host total time" },
];
// Shown when chosen: what the plugin's table has not.
const kHidden = [
  "kind",
  "host_self_percent",
  "host_total_percent",
  "host_mean_duration",
  "device_self_percent",
  "device_mean_duration",
  "cpu_memory_usage",
  "self_cpu_memory_usage",
  "cuda_memory_usage",
  "self_cuda_memory_usage",
  "has_call_stack",
];

export function Operators({ worker }: { worker: number }) {
  const [group, setGroup] = useParam("group", "op");
  const [top, setTop] = useParam("top", "10");
  const [of, setOf] = useParam("time", "self");
  const { params } = useParams();
  const word = group === "op+shape" ? "op+shape" : "op";
  const byName = useTable(pointerOf("op", worker));
  const table = useTable(pointerOf(word, worker));
  if (!byName || !table) return <Loading />;
  return (
    <>
      <Panel
        title="Where the time went"
        aside={
          <div class="choices">
            <Switch
              label="Time of an operator"
              value={of}
              onChange={setOf}
              options={[
                ["self", "Self"],
                ["total", "Total"],
              ]}
            />
            <TopN value={top} onChange={setTop} what="operators" />
          </div>
        }>
        <Rings table={byName} top={Number(top) || byName.n} of={params.rows === "all" ? undefined : of} />
        {of === "total" && (
          <p class="notes">
            Total times hold those of the operators called within: parts add up to more than the whole.
          </p>
        )}
      </Panel>
      <Panel title="Operators">
        <DataTable
          table={table}
          label="operators"
          hidden={kHidden}
          controls={
            <Switch
              label="Group by"
              value={word}
              onChange={setGroup}
              options={[
                ["op", "Operator"],
                ["op+shape", "Operator + input shape"],
              ]}
            />
          }
          canExpand={(row) => table.value(row, "has_call_stack") === "Yes"}
          expandTitle="View call stacks"
          expand={
            anyStack(table)
              ? (row) => <Stacks worker={worker} table={table} row={row} withShape={word === "op+shape"} />
              : undefined
          }
        />
      </Panel>
    </>
  );
}

function anyStack(table: Table): boolean {
  for (let row = 0; row < table.n; row++) if (table.value(row, "has_call_stack") === "Yes") return true;
  return false;
}

function Rings({ table, top, of }: { table: Table; top: number; of?: string }) {
  const rings = useMemo(() => ringsOf(table, top, of), [table, top, of]);
  if (rings.length === 0) return <p class="empty">No durations are known.</p>;
  return (
    <div class="rings">
      {rings.map(({ title, slices }) => (
        <Donut key={title} title={title} unit="us" slices={slices} />
      ))}
    </div>
  );
}

// An operator has one colour in all rings.
function ringsOf(table: Table, top: number, of?: string) {
  const colors = new Map<string, string>();
  return kRings
    .filter(({ key, of: one }) => table.has(key) && (!of || one === of))
    .map(({ key, title }) => {
      const slices: Slice[] = [];
      for (let row = 0; row < table.n; row++) {
        const value = table.number(row, key);
        if (value !== null)
          slices.push({
            name: table.text(row, "name"),
            value,
            color: "",
            figure: <Figure at={table.figure(row, key)} value={value} unit="us" />,
          });
      }
      const shown = withOthers(slices, top, (rest) => (
        <Derived rule={`sum of ${table.at}/rows/*/${key} behind the largest ${top}`} value={rest} unit="us" />
      ));
      for (const slice of shown) {
        if (slice.color) continue;
        if (!colors.has(slice.name)) colors.set(slice.name, colorOf(colors.size));
        slice.color = colors.get(slice.name)!;
      }
      return { title, slices: shown };
    })
    .filter(({ slices }) => slices.length > 0);
}

// The call stacks of one row: rows of the table by stack with the same operator (and input shape).
function Stacks({ worker, table, row, withShape }: { worker: number; table: Table; row: number; withShape: boolean }) {
  const stacks = useTable(pointerOf(withShape ? "op+shape+stack" : "op+stack", worker));
  const name = table.text(row, "name");
  const shape = table.text(row, "input_shape");
  const keep = useMemo(
    () =>
      stacks &&
      ((r: number) => stacks.text(r, "name") === name && (!withShape || stacks.text(r, "input_shape") === shape)),
    [stacks, name, shape],
  );
  if (!stacks || !keep) return <Loading />;
  return (
    <DataTable
      nested
      table={stacks}
      id={`stack${row}`}
      label={`call stacks of ${name}`}
      keep={keep}
      hidden={[...kHidden, "name", "input_shape", "tc_eligible", "tc_self_ratio", "tc_total_ratio"]}
    />
  );
}
