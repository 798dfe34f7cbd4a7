// What was alive, at the peak or at a moment, and what leaks: by operator and line of source.
import { useMemo } from "preact/hooks";
import { at as documentAt, useTable, type Table } from "../data/documents";
import { Derived } from "../figure";
import { Frames } from "../table/frames";
import { DataTable } from "../table/table";
import { NumberField, Panel } from "../widgets";
import { pointerOf } from "../worker";
import { aliveAt } from "./memory_choice";
import { ofDevice, useMoment, usePeak, type Chosen } from "./memory_chosen";
import type { Curves } from "./memory_curve";

// Who owned what: at the peak, as `tprof stats --by peak` has it, or at a moment that was clicked.
export function Alive({
  worker,
  pointer,
  device,
  devices,
  range,
  events,
  curves,
}: Chosen & { devices: string[]; events: Table; curves: Curves | null }) {
  const [clicked, setMoment] = useMoment();
  const curve = device === undefined ? undefined : curves?.[device];
  const peakOfRange = usePeak({ pointer, device, range }, curves);
  const moment = clicked ?? peakOfRange?.[0];
  const peakPointer = pointerOf("peak", worker);
  const peak = useTable(moment === undefined ? peakPointer : undefined);
  const stacks = useTable(moment === undefined ? undefined : `${pointer}/stacks`);
  const then = useMemo(
    () => (moment !== undefined && stacks ? aliveAt(pointer, events, stacks, moment) : undefined),
    [pointer, events, stacks, moment],
  );
  const waits = clicked === undefined && peakOfRange === null;
  const table = waits ? undefined : moment === undefined ? peak : then;
  const keep = useMemo(() => ofDevice(table, device), [table, device]);
  // Notes begin with the device that they are about.
  const ofOthers = device === undefined ? [] : devices.filter((one) => one !== device);
  const aboutIt = (note: string) => !ofOthers.some((one) => note.startsWith(`${one}: `));
  const title =
    clicked !== undefined
      ? "Alive at the moment chosen"
      : range
        ? "Alive at the peak of the range"
        : "Alive at the peak";
  return (
    <Panel
      title={title}
      name="shorter"
      aside={
        events.n > 0 && (
          <div class="tools">
            {clicked !== undefined && (
              <span class="muted">
                <Derived rule="#at" value={clicked} unit="us" /> after the start
              </span>
            )}
            <NumberField
              label="At (ms)"
              value={(moment ?? curve?.peak_at ?? 0) / 1000}
              onChange={(ms) => setMoment(ms * 1000)}
            />
            <button type="button" disabled={clicked === undefined} onClick={() => setMoment(undefined)}>
              At the peak
            </button>
          </div>
        )
      }>
      {!table ? (
        <p class="loading">Opening</p>
      ) : (
        <DataTable
          table={table}
          id="alive"
          label="memory alive"
          keep={keep}
          notes={aboutIt}
          hidden={kOwnerHidden}
          briefStacks
          {...stackBelow(table)}
          empty="The trace has no addresses, so the owners of the memory are not known."
        />
      )}
    </Panel>
  );
}

const kOwnerHidden = ["device", "stack"];

// The call stack of an owner, in what lies below its row.
function stackBelow(table: Table) {
  const known = (row: number) => table.value(row, "call_stack") !== null;
  return {
    canExpand: known,
    expandTitle: "View call stack",
    expand: some(table, known)
      ? (row: number) => (
          <Frames stack={table.value(row, "call_stack")} at={table.figure(row, "call_stack")} options={table.options} />
        )
      : undefined,
  };
}

function some(table: Table, is: (row: number) => boolean): boolean {
  for (let row = 0; row < table.n; row++) if (is(row)) return true;
  return false;
}

export function Leaks({ worker, device }: { worker: number; device: string | undefined }) {
  const peakPointer = pointerOf("peak", worker);
  const leaks = peakPointer && documentAt(`${peakPointer}/leaks`) !== undefined ? `${peakPointer}/leaks` : undefined;
  const table = useTable(leaks);
  const keep = useMemo(() => ofDevice(table, device), [table, device]);
  if (!leaks || !table || (keep && !some(table, keep))) return null;
  return (
    <Panel title="Likely leaks: allocated in the steps and still alive at the end of the last" name="shorter">
      <DataTable
        table={table}
        id="leaks"
        label="memory that leaks"
        keep={keep}
        hidden={kOwnerHidden}
        briefStacks
        {...stackBelow(table)}
      />
    </Panel>
  );
}
