// The curve of a device, on which one chooses a range or a moment.
import { useMemo } from "preact/hooks";
import { memoryColor } from "../charts/colors";
import { Series } from "../charts/series";
import type { Table } from "../data/documents";
import { Derived, Figure } from "../figure";
import { useParams } from "../state";
import { NumberField } from "../widgets";
import type { Range } from "./memory_choice";
import { pickedRow, rounded, useMoment, usePeak } from "./memory_chosen";

// By device: times in us from the start of the trace.
export type Curves = Record<string, { peak_bytes: number; peak_at: number; points: [number, number, number][] }>;

export function Curve({
  pointer,
  device,
  curves,
  events,
  range,
}: {
  pointer: string;
  device: string;
  curves: Curves | null;
  events: Table;
  range?: Range;
}) {
  const { params, set } = useParams();
  const [moment, setMoment] = useMoment();
  const found = curves?.[device];
  const peak = usePeak({ pointer, device, range }, curves);
  const { times, lines } = useMemo(() => {
    const points = found?.points ?? [];
    const line = (title: string, i: 1 | 2) => ({
      title,
      color: memoryColor(title),
      values: points.map((point) => point[i]),
      filled: i === 1,
    });
    const reserved = points.some((point) => point[2] > 0); // torch's allocator of the CPU states none
    return {
      times: points.map((point) => point[0]),
      lines: reserved ? [line("Reserved", 2), line("Allocated", 1)] : [line("Allocated", 1)],
    };
  }, [found]);
  if (curves === null)
    return <p class="empty">The curve is not in this page, which would have grown too large (--max-size).</p>;
  if (!found)
    return (
      <p class="empty">
        There is no curve: the trace does not state how much was allocated in all (torch before 1.10).
      </p>
    );

  const choose = (begin: number, end: number) => set({ range: `${rounded(begin)}:${rounded(end)}` });
  const row = pickedRow(params.row, events);
  const at = `${pointer}/curve/${device}`;
  const [first, last] = [times[0], times[times.length - 1]];
  return (
    <>
      {range ? (
        <div class="headline">
          {peak && (
            <>
              <span class="big">
                <Derived rule={`peak of ${at} in #range`} value={peak[1]} unit="bytes" />
              </span>
              <span class="muted">
                {"Peak of the range, "}
                <Derived rule={`time of the peak of ${at} in #range`} value={peak[0]} unit="us" /> after the start
              </span>
            </>
          )}
        </div>
      ) : (
        <div class="headline">
          <span class="big">
            <Figure at={`${at}/peak_bytes`} value={found.peak_bytes} unit="bytes" />
          </span>
          <span class="muted">
            Peak Memory Usage, <Figure at={`${at}/peak_at`} value={found.peak_at} unit="us" /> after the start
          </span>
        </div>
      )}
      <Series
        label={`Memory of ${device} over time`}
        times={times}
        curves={lines}
        unit="bytes"
        stepped
        mark={moment ?? (range ? peak?.[0] : found.peak_at)}
        span={
          row === undefined ? undefined : [events.number(row, "allocation_time"), events.number(row, "release_time")]
        }
        range={range && [range.begin, range.end]}
        onRange={choose}
        onReset={() => set({ range: "" })}
        onClick={setMoment}
      />
      <div class="tools below-chart">
        <NumberField
          label="From (ms)"
          value={range ? range.begin / 1000 : first / 1000}
          onChange={(ms) => choose(ms * 1000, Math.max(ms * 1000, range?.end ?? last))}
        />
        <NumberField
          label="To (ms)"
          value={range ? range.end / 1000 : last / 1000}
          onChange={(ms) => choose(Math.min(ms * 1000, range?.begin ?? first), ms * 1000)}
        />
        <button type="button" disabled={!range} onClick={() => set({ range: "" })}>
          Whole run
        </button>
        <span class="muted">
          Drag to choose a range, which the tables below follow; right-click for the whole run. Click for what was alive
          then.
        </span>
      </div>
    </>
  );
}
