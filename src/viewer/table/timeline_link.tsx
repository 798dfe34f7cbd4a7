// The link of a row into the timeline, where the page has one and the row is something on it.
import type { ComponentChildren } from "preact";
import type { Table } from "../data/documents";
import { useParams } from "../state";
import { timelineHref } from "../timeline/href";
import { ruleOf } from "../timeline/rows";
import { rowsOf, useWorker } from "../worker";

export function useTimelineLink(table: Table): ((row: number, name: string) => ComponentChildren) | undefined {
  const { href, params } = useParams();
  const worker = useWorker();
  const rule = params.view === "timeline" && table.options ? undefined : ruleOf(table);
  if (!rule || rowsOf("track", worker) === 0) return undefined;
  return (row, name) => {
    const wanted = rule(table, row);
    return wanted ? (
      <a
        class="to-timeline"
        href={href(timelineHref(wanted), false)}
        title="In the timeline"
        aria-label={`In the timeline: ${name.trim().slice(0, 200)}`}>
        ⇥
      </a>
    ) : null;
  };
}
