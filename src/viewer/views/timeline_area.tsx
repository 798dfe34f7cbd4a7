// The slices of a range of time by track and name, as `tprof stats --by slice --range` prints them.
import { useMemo } from "preact/hooks";
import { Derived } from "../figure";
import { DataTable } from "../table/table";
import { useParams } from "../state";
import { rangeText, statisticsOf } from "../timeline/selection";
import type { Area, Stage } from "../timeline/stage";
import type { Scene } from "./timeline_hooks";

export function AreaTable({ scene, stage, area }: { scene: Scene; stage: Stage; area: Area }) {
  const { params } = useParams();
  const { worker, main } = scene;
  const table = useMemo(
    () => statisticsOf(main, area, `stats/slice/workers/${worker}`),
    [worker, main, rangeText(area)],
  );
  const keys = area.tracks && new Set([...area.tracks].map(({ key }) => key));
  const which = keys && [...keys].join(" ");
  const keep = useMemo(() => keys && ((row: number) => keys.has(table.text(row, "track"))), [table, which]);
  return (
    <>
      <header>
        <h2>
          Selected <Derived rule="length of #sel" value={Math.round(area.to - area.from) / 1000} unit="us" />
        </h2>
        <span class="muted">
          <Derived rule="begin of #sel" value={Math.round(area.from) / 1000} unit="us" /> to{" "}
          <Derived rule="end of #sel" value={Math.round(area.to) / 1000} unit="us" />
          {keys ? `, on ${keys.size === 1 ? "one track" : "several tracks"}` : ", on all tracks"}
        </span>
        <span class="gap" />
        <button type="button" onClick={() => stage.chooseArea(undefined)}>
          Clear
        </button>
      </header>
      <DataTable
        key={params.rows}
        table={table}
        id="area"
        label="slices of the selection"
        sort="total"
        keep={keep}
        bars={["total", "self"]}
        hidden={["category", "min", "max"]}
        empty="No slice is in this range."
      />
    </>
  );
}
