// Memory over time: the curve, on which one chooses a range or a moment, and the tables, which follow what is chosen.
import { useMemo } from "preact/hooks";
import { memoryColor } from "../charts/colors";
import { Series } from "../charts/series";
import { at as documentAt, useTable, useValue, type Table } from "../data/documents";
import type { TableHead } from "../data/types";
import { Derived, Figure } from "../figure";
import { useParam, useParams } from "../state";
import { DataTable } from "../table/table";
import { Frames } from "../table/frames";
import { NumberField, Panel, Select } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { aliveAt, liesIn, statisticsOf, type Range } from "./memory_choice";

export function memoryAbsent(worker: number): string | undefined {
  return rowsOf("memory", worker) > 0 ? undefined : "no memory was recorded (tprof-run --profile-memory)";
}

// By device: times in us from the begin of the trace.
type Curves = Record<string, { peak_bytes: number; peak_at: number; points: [number, number, number][] }>;

export function Memory({ worker }: { worker: number }) {
  const pointer = pointerOf("memory", worker)!;
  const { params, set } = useParams();
  const statistics = useTable(pointer);
  const events = useTable(`${pointer}/events`);
  const curves = useValue(`${pointer}/curve`) as Curves | null | undefined;
  const devices = useMemo(() => (statistics && events && curves !== undefined ? devicesOf(statistics, events, curves) : []),
                          [statistics, events, curves]);
  if (!statistics || !events || curves === undefined) return <p class="loading">Opening</p>;

  // A GPU where there is one, as the plugin begins; all of them where all rows are asked for.
  const device = devices.includes(params.device) ? params.device : (devices.find((one) => one.startsWith("GPU")) ?? devices[0]);
  const every = params.rows === "all" && !params.device;
  const range = rangeOf(params.range);
  const common = { worker, pointer, device: every ? undefined : device, range };
  return (
    <>
      <Panel title="Memory over time" aside={devices.length > 1 && (
        <Select label="Device" value={device} options={devices.map((one) => [one, one])}
                onChange={(one) => set({ device: one, range: "", at: "", row: "" })} />)}>
        <Curve pointer={pointer} device={device} curves={curves} events={events} range={range} />
      </Panel>
      <Alive {...common} devices={devices} events={events} curves={curves} />
      <Leaks worker={worker} device={common.device} />
      <Statistics {...common} all={statistics} />
      <Events {...common} events={events} />
    </>
  );
}

function devicesOf(statistics: Table, events: Table, curves: Curves | null): string[] {
  const found = new Set(Object.keys(curves ?? {}));
  for (const table of [statistics, events]) for (let row = 0; row < table.n; row++) found.add(table.text(row, "device"));
  return [...found].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

// #range=1200.5:3400, in us.
function rangeOf(text: string | undefined): Range | undefined {
  const found = /^(-?\d+(?:\.\d{1,3})?):(-?\d+(?:\.\d{1,3})?)$/.exec(text ?? "");
  if (!found) return undefined;
  const [begin, end] = [Number(found[1]), Number(found[2])];
  return begin <= end ? { begin, end } : undefined;
}

// Whole nanoseconds, as the recorder counts.
const rounded = (us: number) => Math.round(us * 1000) / 1000;

function useMoment(): [number | undefined, (us: number | undefined) => void] {
  const [text, set] = useParam("at");
  return [/^-?\d+(\.\d{1,3})?$/.test(text) ? Number(text) : undefined, (us) => set(us === undefined ? "" : String(rounded(us)))];
}

function Curve({ pointer, device, curves, events, range }: {
  pointer: string; device: string; curves: Curves | null; events: Table; range?: Range;
}) {
  const { params, set } = useParams();
  const [moment, setMoment] = useMoment();
  const found = curves?.[device];
  const { times, lines } = useMemo(() => {
    const points = found?.points ?? [];
    const line = (title: string, i: 1 | 2) => ({ title, color: memoryColor(title), values: points.map((point) => point[i]), filled: i === 1 });
    const reserved = points.some((point) => point[2] > 0);  // torch's allocator of the CPU states none
    return { times: points.map((point) => point[0]), lines: reserved ? [line("Reserved", 2), line("Allocated", 1)] : [line("Allocated", 1)] };
  }, [found]);
  if (curves === null) return <p class="empty">The curve is not in this page, which would have grown too large (--max-size).</p>;
  if (!found) return <p class="empty">There is no curve: the trace does not state how much was allocated in all (torch before 1.10).</p>;

  const choose = (begin: number, end: number) => set({ range: `${rounded(begin)}:${rounded(end)}` });
  const row = pickedRow(params.row, events);
  const at = `${pointer}/curve/${device}`;
  const [first, last] = [times[0], times[times.length - 1]];
  return (
    <>
      <div class="headline">
        <span class="big"><Figure at={`${at}/peak_bytes`} value={found.peak_bytes} unit="bytes" /></span>
        <span class="muted">Peak Memory Usage, <Figure at={`${at}/peak_at`} value={found.peak_at} unit="us" /> after the begin</span>
      </div>
      <Series label={`Memory of ${device} over time`} times={times} curves={lines} unit="bytes" stepped
              mark={moment ?? found.peak_at} span={row === undefined ? undefined : [events.number(row, "allocation_time"), events.number(row, "release_time")]}
              range={range && [range.begin, range.end]} onRange={choose} onReset={() => set({ range: "" })} onClick={setMoment} />
      <div class="tools below-chart">
        <NumberField label="From (ms)" value={range ? range.begin / 1000 : first / 1000} onChange={(ms) => choose(ms * 1000, Math.max(ms * 1000, range?.end ?? last))} />
        <NumberField label="To (ms)" value={range ? range.end / 1000 : last / 1000} onChange={(ms) => choose(Math.min(ms * 1000, range?.begin ?? first), ms * 1000)} />
        <button type="button" disabled={!range} onClick={() => set({ range: "" })}>All of it</button>
        <span class="muted">Drag to choose a range, which the tables below follow; right-click for all of it. Click for what was alive then.</span>
      </div>
    </>
  );
}

function pickedRow(text: string | undefined, events: Table): number | undefined {
  const row = /^\d+$/.test(text ?? "") ? Number(text) : -1;
  return row >= 0 && row < events.n ? row : undefined;
}

interface Chosen {
  worker: number;
  pointer: string;
  device: string | undefined;  // undefined: all
  range: Range | undefined;
}

const ofDevice = (table: Table | undefined, device: string | undefined) =>
  table && device !== undefined ? (row: number) => table.value(row, "device") === device : undefined;

// Who owned what: at the peak, as `tprof stats --by peak` has it, or at a moment that was clicked.
function Alive({ worker, pointer, device, devices, events, curves }: Chosen & { devices: string[]; events: Table; curves: Curves | null }) {
  const [moment, setMoment] = useMoment();
  const peakPointer = pointerOf("peak", worker);
  const peak = useTable(moment === undefined ? peakPointer : undefined);
  const stacks = useTable(moment === undefined ? undefined : `${pointer}/stacks`);
  const then = useMemo(() => (moment !== undefined && stacks ? aliveAt(pointer, events, stacks, moment) : undefined), [pointer, events, stacks, moment]);
  const table = moment === undefined ? peak : then;
  const keep = useMemo(() => ofDevice(table, device), [table, device]);
  // Notes begin with the device that they are about.
  const ofOthers = device === undefined ? [] : devices.filter((one) => one !== device);
  const aboutIt = (note: string) => !ofOthers.some((one) => note.startsWith(`${one}: `));
  const peakAt = device === undefined ? undefined : curves?.[device]?.peak_at;
  return (
    <Panel title={moment === undefined ? "Alive at the peak" : "Alive at the moment chosen"} name="shorter" aside={events.n > 0 &&
      <div class="tools">
        {moment !== undefined && <span class="muted"><Derived rule="#at" value={moment} unit="us" /> after the begin</span>}
        <NumberField label="At (ms)" value={(moment ?? peakAt ?? 0) / 1000} onChange={(ms) => setMoment(ms * 1000)} />
        <button type="button" disabled={moment === undefined} onClick={() => setMoment(undefined)}>At the peak</button>
      </div>}>
      {!table ? <p class="loading">Opening</p> : (
        <DataTable table={table} id="alive" label="memory alive" keep={keep} notes={aboutIt} hidden={kOwnerHidden} briefStacks {...stackBelow(table)}
                   empty="The trace states no addresses: who owned what is not known." />
      )}
    </Panel>
  );
}

const kOwnerHidden = ["device", "stack"];

// The call stack of an owner, in what lies below its row.
function stackBelow(table: Table) {
  const known = (row: number) => table.value(row, "call_stack") !== null;
  return {
    canExpand: known, expandTitle: "View call stack",
    expand: some(table, known) ? (row: number) => <Frames stack={table.value(row, "call_stack")} at={table.figure(row, "call_stack")} options={table.options} /> : undefined,
  };
}

function some(table: Table, is: (row: number) => boolean): boolean {
  for (let row = 0; row < table.n; row++) if (is(row)) return true;
  return false;
}

function Leaks({ worker, device }: { worker: number; device: string | undefined }) {
  const peakPointer = pointerOf("peak", worker);
  const leaks = peakPointer && documentAt(`${peakPointer}/leaks`) !== undefined ? `${peakPointer}/leaks` : undefined;
  const table = useTable(leaks);
  const keep = useMemo(() => ofDevice(table, device), [table, device]);
  if (!leaks || !table || (keep && !some(table, keep))) return null;
  return (
    <Panel title="Likely leaks: allocated in the steps and still alive at the end of the last" name="shorter">
      <DataTable table={table} id="leaks" label="memory that leaks" keep={keep} hidden={kOwnerHidden} briefStacks {...stackBelow(table)} />
    </Panel>
  );
}

function Statistics({ pointer, device, range, all }: Chosen & { all: Table }) {
  const nodes = useTable(range && `${pointer}/nodes`);
  const changes = useTable(range && `${pointer}/changes`);
  const table = useMemo(() => {
    if (!range) return all;
    return nodes && changes ? statisticsOf(all, nodes, changes, range) : undefined;
  }, [all, nodes, changes, range?.begin, range?.end]);
  const keep = useMemo(() => ofDevice(table, device), [table, device]);
  const gone = range && [nodes, changes].some((one) => one && one.leftOutBytes > 0);
  return (
    <Panel title="Memory statistics" name="shorter" aside={range && <RangeText range={range} />}>
      {gone ? <p class="empty">What the sums of a range follow from is not in this page, which would have grown too large (--max-size).</p>
        : !table ? <p class="loading">Opening</p>
        : <DataTable table={table} label="memory statistics" keep={keep} hidden={["device"]} searchHint="Search by operator"
                     empty={range ? "Nothing was allocated or released in this range." : undefined} />}
    </Panel>
  );
}

function RangeText({ range }: { range: Range }) {
  return (
    <span class="muted">of the range <Derived rule="#range" value={range.begin} unit="us" /> to <Derived rule="#range" value={range.end} unit="us" /></span>
  );
}

// Columns shown when chosen: what the plugin's table has not.
const kEventHidden = ["device", "address", "stack"];

function Events({ pointer, device, range, events }: Chosen & { events: Table }) {
  const { params, set } = useParams();
  const stacksHead = documentAt(`${pointer}/stacks`) as unknown as TableHead | undefined;
  const [least, setLeast] = useParam("min");
  const [most, setMost] = useParam("max");
  const keep = useMemo(() => {
    const [from, to] = [kilobytes(least, -Infinity), kilobytes(most, Infinity)];
    return (row: number) => {
      const size = events.number(row, "size") ?? 0;
      return (device === undefined || events.value(row, "device") === device) && size >= from && size <= to && (!range || liesIn(range, events, row));
    };
  }, [events, device, range?.begin, range?.end, least, most]);
  return (
    <Panel title="Memory events" name="shorter" aside={range && <RangeText range={range} />}>
      <DataTable table={events} id="events" label="memory events" keep={keep} hidden={kEventHidden} searchIn={["operator", "caller"]} searchHint="Search by operator"
        empty="The trace states no addresses (torch before 1.10): which release belongs to which allocation is not known."
        pick={{ title: "Show on the curve", row: pickedRow(params.row, events), set: (row) => set({ row: row === undefined ? "" : String(row) }) }}
        controls={<>
          <SizeField label="Min Size (KB)" value={least} onChange={setLeast} />
          <SizeField label="Max Size (KB)" value={most} onChange={setMost} />
        </>}
        canExpand={(row) => events.value(row, "stack") !== null} expandTitle="View call stack"
        expand={(stacksHead?.n_rows ?? 0) > 0 ? (row) => <StackOf pointer={pointer} stack={events.number(row, "stack")!} /> : undefined} />
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
  if (row === stacks.n) return <p class="empty">Call stacks are not in this page, which would have grown too large (--max-size).</p>;
  return <Frames stack={stacks.value(row, "call_stack")} at={stacks.figure(row, "call_stack")} />;
}
