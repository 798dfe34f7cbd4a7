// The ranks of a job beside each other: who waits for whom, each step of each rank, their collectives and GPUs.
import { useMemo } from "preact/hooks";
import { useTable, type Table } from "../data/documents";
import { useParam } from "../state";
import { DataTable } from "../table/table";
import { Panel, Select } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { partOf } from "./distributed_parts";
import { Steps } from "./distributed_steps";
import { WhoWaits } from "./distributed_waiting";

export function distributedAbsent(worker: number): string | undefined {
  return rowsOf("comm", worker) > 0 ? undefined : "no collective communication in these traces";
}

export function Distributed({ worker }: { worker: number }) {
  const pointer = pointerOf("comm", worker)!;
  const steps = useTable(partOf(pointer, "steps"));
  return (
    <>
      <WhoWaits pointer={pointer} />
      <Part pointer={pointer} part="stages" title="Stages of a step" label="stages of a step over all ranks" />
      {steps && <Steps table={steps} />}
      <Part pointer={pointer} part="path" title="Critical path over all ranks" label="critical path of the job" />
      <Part pointer={pointer} title="Collectives" label="collectives of all ranks" />
      <Operations pointer={pointer} />
      <Part pointer={pointer} part="matrix" title="Who sends how much to whom" label="transfers between ranks" />
      <Part pointer={pointer} part="nodes" title="Device Information" label="devices" />
    </>
  );
}

function Part({ pointer, part: key, title, label }: { pointer: string; part?: string; title: string; label: string }) {
  const at = key ? partOf(pointer, key) : pointer;
  const table = useTable(at);
  if (!at) return null;
  return (
    <Panel title={title} name="shorter">
      {table ? <DataTable table={table} id={key ?? "collectives"} label={label} /> : <p class="loading">Opening</p>}
    </Panel>
  );
}

function Operations({ pointer }: { pointer: string }) {
  const table = useTable(partOf(pointer, "operations"));
  const [of, setOf] = useParam("of");
  const workers = useMemo(() => (table ? workersOf(table) : []), [table]);
  const keep = useMemo(
    () => (table && of ? (row: number) => table.text(row, "worker") === of : undefined),
    [table, of],
  );
  if (!partOf(pointer, "operations")) return null;
  return (
    <Panel
      title="Communication Operations Stats"
      name="shorter"
      aside={
        workers.length > 1 && (
          <Select label="Worker" value={of} options={[["", "all workers"], ...workers]} onChange={setOf} />
        )
      }>
      {table ? (
        <DataTable table={table} id="operations" label="communication operations" keep={keep} />
      ) : (
        <p class="loading">Opening</p>
      )}
    </Panel>
  );
}

function workersOf(table: Table): [string, string][] {
  const found = new Map<string, string>();
  for (let row = 0; row < table.n; row++) {
    const [worker, rank] = [table.text(row, "worker"), table.number(row, "rank")];
    found.set(worker, rank === null ? worker : `rank ${rank} (${worker})`);
  }
  return [...found];
}
