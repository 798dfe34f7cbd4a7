// What is chosen in the Memory view, all of it in the address: device, range, moment, row of the events.
import { useMemo } from "preact/hooks";
import { useTable, type Table } from "../data/documents";
import { Derived } from "../figure";
import { useParam } from "../state";
import { peakIn, type Range } from "./memory_choice";
import type { Curves } from "./memory_curve";

export interface Chosen {
  worker: number;
  pointer: string;
  device: string | undefined; // undefined: all
  range: Range | undefined;
}

export const ofDevice = (table: Table | undefined, device: string | undefined) =>
  table && device !== undefined ? (row: number) => table.value(row, "device") === device : undefined;

// Whole nanoseconds, as the recorder counts.
export const rounded = (us: number) => Math.round(us * 1000) / 1000;

export function useMoment(): [number | undefined, (us: number | undefined) => void] {
  const [text, set] = useParam("at");
  return [
    /^-?\d+(\.\d{1,3})?$/.test(text) ? Number(text) : undefined,
    (us) => set(us === undefined ? "" : String(rounded(us))),
  ];
}

// [us, bytes]; null: not yet. Approximate, by the points of the curve alone, where the page had no room for all
// changes.
export function usePeak(
  { pointer, device, range }: Pick<Chosen, "pointer" | "device" | "range">,
  curves: Curves | null,
): [number, number] | null | undefined {
  const changes = useTable(range && `${pointer}/changes`);
  const curve = device === undefined ? undefined : curves?.[device];
  return useMemo(() => {
    if (!range || !curve) return undefined;
    return changes ? peakIn(range, curve.points, changes, device!) : null;
  }, [range?.begin, range?.end, curve, changes, device]);
}

export function pickedRow(text: string | undefined, events: Table): number | undefined {
  const row = /^\d+$/.test(text ?? "") ? Number(text) : -1;
  return row >= 0 && row < events.n ? row : undefined;
}

export function RangeText({ range }: { range: Range }) {
  return (
    <span class="muted">
      of the range <Derived rule="#range" value={range.begin} unit="us" /> to{" "}
      <Derived rule="#range" value={range.end} unit="us" />
    </span>
  );
}
