// The flame graphs of A and B as one: bars are as wide as on one side, and their colour and stripes say what changed.
import { useMemo } from "preact/hooks";
import { kGrey, kSides } from "../charts/colors";
import { Flame } from "../charts/flame";
import type { Look } from "../charts/flame_paint";
import { at, type Table, useTable } from "../data/documents";
import { Figure, Said } from "../figure";
import { kFrameKinds, frameOf } from "../flame/frame";
import { selfKey } from "../flame/from_table";
import { leftHeavy } from "../flame/layout";
import { kSources } from "../flame/sources";
import { formatChange } from "../format";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { kTreeColumns } from "../table/tree";
import { Loading, Panel, Select, Switch } from "../widgets";

const kAt = "diff/flames";
const kSame = 0.02; // smaller changes are not worth a colour
const kTiny = 0.001; // of the whole: nor are they here

export function DiffFlames() {
  const sources = kSources.filter(([word]) => at(`${kAt}/${word}`) !== undefined);
  const [chosen, setSource] = useParam("flame");
  const [zoom, setZoom] = useParam("flame.zoom");
  const source = (sources.find(([word]) => word === chosen) ?? sources[0])?.[0];
  const table = useTable(source && `${kAt}/${source}`);
  const [given, setCost] = useParam("flame.cost");
  const [side, setSide] = useParam("flame.width", "b");
  if (!source) return null;
  if (!table) return <Loading />;
  const costs = table.columns
    .filter(({ key }) => key.startsWith("a_") && selfKey(key) !== key)
    .map(({ key }) => key.slice(2));
  const some = costs.filter((key) => ["a", "b"].some((one) => (table.number(0, `${one}_${key}`) ?? 0) > 0));
  const cost = some.includes(given) ? given : (some[0] ?? costs[0]);
  const title = (key: string) => table.columns.find((c) => c.key === `a_${key}`)!.title.replace(/ A$/, "");
  const choose = (set: (value: string) => void) => (value: string) => (setZoom(""), set(value));
  return (
    <Panel
      title="Flame graph of the change"
      aside={
        <div class="choices">
          <Switch label="Source" value={source} options={sources} onChange={choose(setSource)} />
          <Select
            label="Cost per step"
            value={cost}
            options={some.map((key): [string, string] => [key, title(key)])}
            onChange={choose(setCost)}
          />
          <Switch
            label="Bars are as wide as in"
            value={side}
            options={[
              ["a", "Wide as A"],
              ["b", "Wide as B"],
            ]}
            onChange={choose(setSide)}
          />
          {zoom !== "" && (
            <button type="button" onClick={() => setZoom("")}>
              Whole graph
            </button>
          )}
        </div>
      }>
      {table.leftOutBytes > 0 ? (
        <p class="empty">This flame graph is not in this page, which would have grown too large (--max-size).</p>
      ) : (
        <>
          <Legend />
          <Graph table={table} cost={cost} side={side === "a" ? "a" : "b"} zoom={zoom} onZoom={setZoom} />
          <DataTable
            key={source}
            table={table}
            id="flame"
            label="contexts"
            sort={`delta_${selfKey(cost)}`}
            hidden={["kind", ...kTreeColumns, ...otherColumns(costs, cost)]}
          />
        </>
      )}
    </Panel>
  );
}

const otherColumns = (costs: string[], cost: string) =>
  ["calls", ...costs.filter((key) => key !== cost).flatMap((key) => [key, selfKey(key)])].flatMap((key) =>
    ["a_", "b_", "delta_"].map((of) => of + key),
  );

interface Change {
  a: number;
  b: number;
  share: number; // of the larger side: −1 it is gone, 1 it is new
  kind: "" | "more" | "less";
}

function changeOf(table: Table, cost: string, row: number, whole: number): Change {
  const [a, b] = [table.number(row, `a_${cost}`) ?? 0, table.number(row, `b_${cost}`) ?? 0];
  const share = Math.max(a, b) > 0 ? (b - a) / Math.max(a, b) : 0;
  const is = Math.abs(share) > kSame && Math.abs(b - a) > kTiny * whole;
  return { a, b, share, kind: !is ? "" : b > a ? "more" : "less" };
}

const kMarks = { more: "▲ ", less: "▼ ", "": "" };

function Graph({
  table,
  cost,
  side,
  zoom,
  onZoom,
}: {
  table: Table;
  cost: string;
  side: "a" | "b";
  zoom: string;
  onZoom: (row: string) => void;
}) {
  const bars = useMemo(
    () =>
      leftHeavy(
        table.rows().map((row) => table.number(row, "parent") ?? -1),
        table.rows().map((row) => table.number(row, `${side}_${cost}`) ?? 0),
      ),
    [table, side, cost],
  );
  const look = useMemo((): Look => {
    const whole = Math.max(table.number(0, `a_${cost}`) ?? 0, table.number(0, `b_${cost}`) ?? 0);
    const changes = table.rows().map((row) => changeOf(table, cost, row, whole));
    const names = table
      .rows()
      .map((row) => (row === 0 ? "all" : frameOf(table.text(row, "name"), table.text(row, "kind"), false).label));
    const percent = ({ a, b }: Change) =>
      a === 0 ? "new" : b === 0 ? "gone" : formatChange((100 * (b - a)) / a, "percent");
    return {
      name: (row) =>
        `${kMarks[changes[row].kind]}${changes[row].kind ? `${percent(changes[row])}  ` : ""}${names[row]}`,
      color: (row) => (changes[row].kind ? kSides[changes[row].kind as "more" | "less"] : kGrey),
      strength: (row) => (changes[row].kind ? 0.25 + 0.6 * Math.min(1, Math.abs(changes[row].share)) : 0.25),
      mark: (row) => changes[row].kind,
    };
  }, [table, cost]);
  const zoomed = /^\d+$/.test(zoom) && Number(zoom) < table.n ? Number(zoom) : -1;
  return (
    <Flame
      label={`Flame graph of the change, as wide as in ${side.toUpperCase()}`}
      bars={bars}
      look={look}
      zoomed={zoomed}
      onZoom={(row) => onZoom(row > 0 ? String(row) : "")}
      details={(row) => <Details table={table} cost={cost} row={row} />}
      empty={`Nothing of this was recorded in ${side.toUpperCase()}.`}
    />
  );
}

function Details({ table, cost, row }: { table: Table; cost: string; row: number }) {
  const lines: [string, string][] = [
    [`a_${cost}`, "A"],
    [`b_${cost}`, "B"],
    [`delta_${cost}`, "Change"],
    [`delta_${selfKey(cost)}`, "Change of its own"],
  ];
  const unit = table.columns.find(({ key }) => key === `a_${cost}`)!.unit;
  return (
    <>
      <b>
        <Said at={table.figure(row, "name")} text={table.text(row, "name")} />
      </b>
      <p class="muted" data-label>
        {kFrameKinds[table.text(row, "kind")] ?? ""}, per step
      </p>
      <table class="plain">
        <tbody>
          {lines.map(([key, title]) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              <td class="number">
                <Figure at={table.figure(row, key)} value={table.value(row, key)} unit={unit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

// Colour, stripes and a sign say the same.
function Legend() {
  const items: ["more" | "less" | "", string][] = [
    ["more", "▲ more in B"],
    ["less", "▼ less in B"],
    ["", "no change of 2 % or more"],
  ];
  return (
    <ul class="legend flat" data-label>
      {items.map(([kind, text]) => (
        <li key={kind}>
          <svg class="swatch change" width="18" height="12" aria-hidden="true">
            <rect width="18" height="12" fill={kind ? kSides[kind] : kGrey} opacity={kind ? 0.7 : 0.35} />
            {kind === "more" && <path d="M0 12l5-5M4 12l5-5M8 12l5-5M12 12l5-5" stroke="currentColor" />}
            {kind === "less" && <path d="M1 9h2m2 0h2m2 0h2m2 0h2" stroke="currentColor" stroke-width="2" />}
          </svg>
          {text}
        </li>
      ))}
    </ul>
  );
}
