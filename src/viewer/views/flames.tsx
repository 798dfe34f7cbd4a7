// Flame graphs: where time, memory and idle time of the GPU went, by samples of stacks, Python calls, modules,
// operators, or by what launched the work of the GPU.
import { useMemo } from "preact/hooks";
import { at, useTable } from "../data/documents";
import { Said } from "../figure";
import { useChosen } from "../flame/choice";
import { contextsOf, costsOf } from "../flame/from_table";
import { kSources } from "../flame/sources";
import { Loading, Panel } from "../widgets";
import { pointerOf } from "../worker";
import { Controls, Hidden } from "./flames_controls";
import { Functions } from "./flames_functions";
import { Graph } from "./flames_graph";

function sourcesOf(worker: number): [string, string][] {
  const pointer = pointerOf("flame", worker);
  return kSources.filter(([word]) => pointer && at(`${pointer}/${word}`) !== undefined);
}

export function flamesAbsent(worker: number): string | undefined {
  return sourcesOf(worker).length > 0 ? undefined : "neither stacks nor operators were recorded";
}

export function Flames({ worker }: { worker: number }) {
  const { chosen, set } = useChosen();
  const sources = sourcesOf(worker);
  const source = (sources.find(([word]) => word === chosen.source) ?? sources[0])[0];
  const table = useTable(`${pointerOf("flame", worker)}/${source}`);
  const { thread, lines, hidden, without } = chosen;
  const contexts = useMemo(
    () => table && contextsOf(table, chosen),
    [table, thread, lines, hidden.join("\n"), without.join("\n")],
  );
  if (!table || !contexts) return <Loading />;
  if (table.leftOutBytes > 0)
    return <p class="empty">This flame graph is not in this page, which would have grown too large (--max-size).</p>;
  const costs = costsOf(table);
  const usual = costs.find((key) => key !== "calls" && contexts.total[costs.indexOf(key)][0] > 0) ?? costs[0];
  const cost = costs.includes(chosen.cost) && chosen.cost !== "calls" ? chosen.cost : usual;
  const shared = { table, contexts, costs, cost, chosen, set };
  return (
    <>
      <Panel title="Flame graph" aside={<Controls {...shared} sources={sources} source={source} />}>
        <Hidden {...shared} />
        <Graph key={source} {...shared} />
        {table.notes.length > 0 && (
          <ul class="notes">
            {table.notes.map((note, i) => (
              <li key={note}>
                <Said at={`${table.at}/notes/${i}`} text={note} />
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Functions key={`functions ${source}`} {...shared} />
    </>
  );
}
