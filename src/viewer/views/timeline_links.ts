// From a slice to the table in which its name has a row.
import { moduleOfCall } from "../modules";
import type { Params } from "../state";

const kTables: Record<string, { view: string; text: string }> = {
  cpu_op: { view: "operators", text: "In Operators" },
  user_annotation: { view: "operators", text: "In Operators" },
  kernel: { view: "kernels", text: "In Kernels" },
  module: { view: "modules", text: "In Modules" },
};

export function tableHref(category: string, name: string): { params: Params; text: string } | undefined {
  const table = kTables[category];
  return table && { params: { view: table.view, q: `"${moduleOfCall(name)}"` }, text: table.text };
}
