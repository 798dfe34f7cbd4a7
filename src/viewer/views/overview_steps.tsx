// Each step by category: as bars, or as a table.
import { StackedBars } from "../charts/bars";
import { categoryColor } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { useTable, type Table } from "../data/documents";
import { Derived, Figure, Said } from "../figure";
import { useParams } from "../state";
import { DataTable } from "../table/table";
import { Panel, Switch } from "../widgets";

export function Steps({ worker }: { worker: number }) {
  const { params, set } = useParams();
  const table = useTable(`steps/workers/${worker}`);
  const asTable = params.steps === "table" || params.rows === "all";
  if (!table) return null;
  return (
    <Panel
      title="Steps"
      name="steps"
      aside={
        <Switch
          label="Show steps as"
          value={asTable ? "table" : "bars"}
          options={[
            ["bars", "Bars"],
            ["table", "Table"],
          ]}
          onChange={(value) => set({ steps: value === "table" ? "table" : "" })}
        />
      }>
      {asTable ? <DataTable table={table} id="step" label="steps" /> : <StepBars table={table} />}
    </Panel>
  );
}

function StepBars({ table }: { table: Table }) {
  // The last row of several is their average.
  const n = table.n > 1 ? table.n - 1 : table.n;
  if (n === 0) return <p class="empty">No steps in this trace.</p>;
  const parts = table.columns.slice(2).map((c) => ({ name: c.key, color: categoryColor(c.key) }));
  return (
    <StackedBars
      label="Time of each step by category"
      unit="us"
      parts={parts}
      names={Array.from({ length: n }, (_, row) => table.text(row, "step"))}
      value={(bar, part) => table.number(bar, parts[part].name)}
      details={(bar) => (
        <>
          <b>
            Step <Said at={table.figure(bar, "step")} text={table.text(bar, "step")} />:{" "}
            <Figure at={table.figure(bar, "total")} value={table.number(bar, "total")} unit="us" />
          </b>
          <table class="plain">
            <tbody>
              {parts.map((part) => {
                const value = table.number(bar, part.name);
                const total = table.number(bar, "total");
                return (
                  <tr>
                    <th scope="row">
                      <Swatch color={part.color} />
                      {part.name}
                    </th>
                    <td class="number">
                      <Figure at={table.figure(bar, part.name)} value={value} unit="us" />
                    </td>
                    <td class="number muted">
                      {value !== null && total ? (
                        <Derived
                          rule={`percent of ${table.figure(bar, "total")}`}
                          value={(100 * value) / total}
                          unit="percent"
                        />
                      ) : (
                        ""
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </>
      )}
    />
  );
}
