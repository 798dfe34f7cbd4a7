// Memory over time: the curve, on which one chooses a range or a moment, and the tables, which follow what is chosen.
import { useMemo } from "preact/hooks";
import { useTable, useValue, type Table } from "../data/documents";
import { useParams } from "../state";
import { DataTable } from "../table/table";
import { Panel, Select } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { Alive, Leaks } from "./memory_alive";
import { statisticsOf, type Range } from "./memory_choice";
import { ofDevice, RangeText, type Chosen } from "./memory_chosen";
import { Curve, type Curves } from "./memory_curve";
import { Events } from "./memory_events";

export function memoryAbsent(worker: number): string | undefined {
  return rowsOf("memory", worker) > 0 ? undefined : "no memory was recorded (tprof-run --profile-memory)";
}

export function Memory({ worker }: { worker: number }) {
  const pointer = pointerOf("memory", worker)!;
  const { params, set } = useParams();
  const statistics = useTable(pointer);
  const events = useTable(`${pointer}/events`);
  const curves = useValue(`${pointer}/curve`) as Curves | null | undefined;
  const devices = useMemo(
    () => (statistics && events && curves !== undefined ? devicesOf(statistics, events, curves) : []),
    [statistics, events, curves],
  );
  if (!statistics || !events || curves === undefined) return <p class="loading">Opening</p>;

  // Starts with a GPU if there is one, as the plugin does.
  const device = devices.includes(params.device)
    ? params.device
    : (devices.find((one) => one.startsWith("GPU")) ?? devices[0]);
  const every = params.rows === "all" && !params.device;
  const range = rangeOf(params.range);
  const common = { worker, pointer, device: every ? undefined : device, range };
  return (
    <>
      <Panel
        title="Memory over time"
        aside={
          devices.length > 1 && (
            <Select
              label="Device"
              value={device}
              options={devices.map((one) => [one, one])}
              onChange={(one) => set({ device: one, range: "", at: "", row: "" })}
            />
          )
        }>
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
  for (const table of [statistics, events])
    for (let row = 0; row < table.n; row++) found.add(table.text(row, "device"));
  return [...found].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

// #range=1200.5:3400, in us.
function rangeOf(text: string | undefined): Range | undefined {
  const found = /^(-?\d+(?:\.\d{1,3})?):(-?\d+(?:\.\d{1,3})?)$/.exec(text ?? "");
  if (!found) return undefined;
  const [begin, end] = [Number(found[1]), Number(found[2])];
  return begin <= end ? { begin, end } : undefined;
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
      {gone ? (
        <p class="empty">
          What the sums of a range follow from is not in this page, which would have grown too large (--max-size).
        </p>
      ) : !table ? (
        <p class="loading">Opening</p>
      ) : (
        <DataTable
          table={table}
          label="memory by operator"
          keep={keep}
          hidden={["device"]}
          searchHint="Operator"
          empty={range ? "Nothing was allocated or released in this range." : undefined}
        />
      )}
    </Panel>
  );
}
