// Who waits for whom: the sentences, what each rank waits and is waited for, the table of ranks.
import { categoryColor } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { useTable, type Table } from "../data/documents";
import { Derived, Figure, Said } from "../figure";
import { DataTable } from "../table/table";
import { Panel } from "../widgets";
import { partOf, rankText } from "./distributed_parts";

export function WhoWaits({ pointer }: { pointer: string }) {
  const table = useTable(partOf(pointer, "ranks"));
  if (!table) return null;
  return (
    <Panel title="Who waits for whom" name="shorter">
      {table.notes.map((note, i) => (
        <p class={i === 0 ? "story" : "muted"}>
          <Said at={`${table.at}/notes/${i}`} text={note} />
        </p>
      ))}
      <Waiting table={table} />
      <DataTable table={table} id="ranks" label="ranks" notes={() => false} />
    </Panel>
  );
}

const kMaxRanks = 16;

// For each rank what it waits for others, and others for it: to the left and to the right of one line.
function Waiting({ table }: { table: Table }) {
  const sides = [
    ["waiting", "waits for others, in all steps", "Synchronizing"],
    ["waited_for", "others wait for it, in all steps", "Overlapping"],
  ];
  const of = (row: number, key: string) => table.number(row, key) ?? 0;
  const all = Array.from({ length: table.n }, (_, row) => row);
  const most = Math.max(...all.flatMap((row) => sides.map(([key]) => of(row, key))));
  if (!(most > 0)) return null;
  const shown =
    all.length <= kMaxRanks
      ? all
      : all
          .sort((a, b) => of(b, "waited_for") - of(a, "waited_for") || of(b, "waiting") - of(a, "waiting"))
          .slice(0, kMaxRanks);
  return (
    <div class="waiting">
      <div class="waiting-row muted">
        <span />
        {sides.map(([key, title, part]) => (
          <span key={key} class={key}>
            <Swatch color={categoryColor(part)} />
            {title}
          </span>
        ))}
      </div>
      {shown.map((row) => (
        <div key={row} class="waiting-row">
          <bdi class="name" title={table.text(row, "worker")}>
            {rankText(table, row)}
          </bdi>
          {sides.map(([key, , part]) => (
            <span key={key} class={key}>
              <span
                class="length"
                style={{
                  width: `calc((100% - 9ch) * ${(of(row, key) / most).toFixed(4)})`,
                  background: categoryColor(part),
                }}
              />
              <Figure at={table.figure(row, key)} value={table.value(row, key)} unit="us" />
            </span>
          ))}
        </div>
      ))}
      {shown.length < all.length && (
        <p class="muted">
          The <Derived rule="rows that are shown" value={shown.length} unit="count" /> ranks that others wait for most;
          the table has all.
        </p>
      )}
    </div>
  );
}
