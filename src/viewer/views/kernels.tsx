// Kernels: total time, tensor cores, and the table by name or by launch and operator.
import { useMemo } from "preact/hooks";
import { colorOf, kGrey } from "../charts/colors";
import { Donut, withOthers, type Slice } from "../charts/donut";
import { type Table, useTable } from "../data/documents";
import { Derived, Figure } from "../figure";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { Loading, Panel, Switch } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { TopN } from "./topn";

const kNames = ["name"];

export function kernelsAbsent(worker: number): string | undefined {
  return rowsOf("kernel", worker) > 0 ? undefined : "no kernels in this trace (CPU only, or recorded without the GPU)";
}

export function Kernels({ worker }: { worker: number }) {
  const [group, setGroup] = useParam("group", "kernel");
  const [top, setTop] = useParam("top", "10");
  const [operator, setOperator] = useParam("operator");
  const word = group === "kernel+op" ? "kernel+op" : "kernel";
  const byName = useTable(pointerOf("kernel", worker));
  const table = useTable(pointerOf(word, worker));
  const keep = useMemo(() => {
    const wanted = operator.toLowerCase();
    return (
      table && ((row: number) => !table.has("operator") || table.text(row, "operator").toLowerCase().includes(wanted))
    );
  }, [table, operator]);
  if (!byName || !table) return <Loading />;
  return (
    <>
      <Panel title="Where the GPU's time went" aside={<TopN value={top} onChange={setTop} what="kernels" />}>
        <Rings table={byName} top={Number(top) || byName.n} />
      </Panel>
      <Panel title="Kernels">
        <DataTable
          table={table}
          label="kernels"
          keep={keep}
          searchIn={kNames}
          searchHint="Kernel name"
          controls={
            <>
              <Switch
                label="Group by"
                value={word}
                onChange={setGroup}
                options={[
                  ["kernel", "Kernel name"],
                  ["kernel+op", "Kernel properties + operator"],
                ]}
              />
              {word === "kernel+op" && (
                <input
                  type="search"
                  class="search"
                  aria-label="Search by operator"
                  placeholder="Operator"
                  value={operator}
                  onInput={(e) => setOperator(e.currentTarget.value)}
                />
              )}
            </>
          }
        />
      </Panel>
    </>
  );
}

function Rings({ table, top }: { table: Table; top: number }) {
  const [byName, byUse] = useMemo(() => [slicesByName(table, top), slicesByUse(table)], [table, top]);
  return (
    <div class="rings two">
      <Donut title="Total time" unit="us" slices={byName} />
      <Donut title="Tensor cores" unit="us" slices={byUse} />
    </div>
  );
}

function slicesByName(table: Table, top: number): Slice[] {
  const slices: Slice[] = [];
  for (let row = 0; row < table.n; row++) {
    const value = table.number(row, "total_duration");
    if (value !== null)
      slices.push({
        name: table.text(row, "name"),
        value,
        color: "",
        figure: <Figure at={table.figure(row, "total_duration")} value={value} unit="us" />,
      });
  }
  const shown = withOthers(slices, top, (rest) => (
    <Derived rule={`sum of ${table.at}/rows/*/total_duration behind the largest ${top}`} value={rest} unit="us" />
  ));
  return shown.map((slice, i) => ({ ...slice, color: slice.color || colorOf(i) }));
}

// The time of kernels that use tensor cores and of those that do not, summed over the rows.
function slicesByUse(table: Table): Slice[] {
  const uses: [string, string, string][] = [
    ["Yes", "Using tensor cores", colorOf(0)],
    ["No", "Not using tensor cores", colorOf(1)],
    ["", "Not known", kGrey],
  ];
  return uses.map(([use, name, color]) => {
    let value = 0;
    for (let row = 0; row < table.n; row++)
      if (table.text(row, "tc_used") === use) value += table.number(row, "total_duration") ?? 0;
    const figure = (
      <Derived
        rule={`sum of ${table.at}/rows/*/total_duration where tc_used is ${use || "null"}`}
        value={value}
        unit="us"
      />
    );
    return { name, value, color, figure };
  });
}
