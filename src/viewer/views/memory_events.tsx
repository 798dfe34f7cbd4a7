// Each block of memory, from its allocation to its release.
import { useMemo } from "preact/hooks";
import { at as documentAt, useTable, type Table } from "../data/documents";
import type { TableHead } from "../data/types";
import { useParam, useParams } from "../state";
import { Frames } from "../table/frames";
import { DataTable } from "../table/table";
import { Panel } from "../widgets";
import { liesIn } from "./memory_choice";
import { pickedRow, RangeText, type Chosen } from "./memory_chosen";

// Columns shown when chosen: what the plugin's table has not.
const kEventHidden = ["device", "address", "stack"];

export function Events({ pointer, device, range, events }: Chosen & { events: Table }) {
  const { params, set } = useParams();
  const stacksHead = documentAt(`${pointer}/stacks`) as unknown as TableHead | undefined;
  const [least, setLeast] = useParam("min");
  const [most, setMost] = useParam("max");
  const keep = useMemo(() => {
    const [from, to] = [kilobytes(least, -Infinity), kilobytes(most, Infinity)];
    return (row: number) => {
      const size = events.number(row, "size") ?? 0;
      return (
        (device === undefined || events.value(row, "device") === device) &&
        size >= from &&
        size <= to &&
        (!range || liesIn(range, events, row))
      );
    };
  }, [events, device, range?.begin, range?.end, least, most]);
  return (
    <Panel title="Memory events" name="shorter" aside={range && <RangeText range={range} />}>
      <DataTable
        table={events}
        id="events"
        label="blocks of memory"
        keep={keep}
        hidden={kEventHidden}
        searchIn={["operator", "caller"]}
        searchHint="Search by operator"
        empty="The trace has no addresses (torch before 1.10), so releases cannot be matched with allocations."
        pick={{
          title: "Show on the curve",
          row: pickedRow(params.row, events),
          set: (row) => set({ row: row === undefined ? "" : String(row) }),
        }}
        controls={
          <>
            <SizeField label="Min Size (KB)" value={least} onChange={setLeast} />
            <SizeField label="Max Size (KB)" value={most} onChange={setMost} />
          </>
        }
        canExpand={(row) => events.value(row, "stack") !== null}
        expandTitle="View call stack"
        expand={
          (stacksHead?.n_rows ?? 0) > 0
            ? (row) => <StackOf pointer={pointer} stack={events.number(row, "stack")!} />
            : undefined
        }
      />
    </Panel>
  );
}

function kilobytes(text: string, otherwise: number): number {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) ? otherwise : value * 1024;
}

function SizeField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <label class="select">
      <span>{label}</span>
      <input type="number" min="0" step="any" value={value} onInput={(e) => onChange(e.currentTarget.value)} />
    </label>
  );
}

function StackOf({ pointer, stack }: { pointer: string; stack: number }) {
  const stacks = useTable(`${pointer}/stacks`);
  if (!stacks) return <p class="loading">Opening</p>;
  let row = 0;
  while (row < stacks.n && stacks.number(row, "stack") !== stack) row++;
  if (row === stacks.n)
    return <p class="empty">Call stacks are not in this page, which would have grown too large (--max-size).</p>;
  return <Frames stack={stacks.value(row, "call_stack")} at={stacks.figure(row, "call_stack")} />;
}
