// Functions of a flame graph, with their own and all costs. One may be chosen, to see its callers and callees.
import { useMemo } from "preact/hooks";
import { FunctionTable } from "../flame/function_table";
import { selfKey } from "../flame/from_table";
import { DataTable } from "../table/table";
import { Panel } from "../widgets";
import type { Shared } from "./flames_controls";

export function Functions({ table, contexts, costs, cost, chosen, set }: Shared) {
  const functions = useMemo(() => new FunctionTable(table, contexts, chosen, costs), [table, contexts]);
  const hidden = costs.filter((key) => key !== cost && key !== "calls").flatMap((key) => [key, selfKey(key)]);
  const row = functions.rows().find((one) => contexts.frames[functions.frameOf(one)].key === chosen.of);
  return (
    <Panel title="Functions">
      <DataTable
        table={functions}
        id="function"
        label="table of functions"
        hidden={["kind", ...hidden]}
        bars={[cost, selfKey(cost)]}
        sort={selfKey(cost)}
        pick={{
          title: "Callers and callees",
          row: chosen.order === "sandwich" ? row : undefined,
          set: (one) =>
            set(
              one === undefined
                ? { of: "", order: "left" }
                : { of: contexts.frames[functions.frameOf(one)].key, order: "sandwich" },
            ),
        }}
      />
    </Panel>
  );
}
