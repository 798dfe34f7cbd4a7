// The functions of a flame graph as a table: computed in the page, so its figures name their rule.
import { Table } from "../data/documents";
import type { Column } from "../data/types";
import type { Cells } from "../data/unpack";
import { ruleOf, type Chosen } from "./choice";
import type { Contexts } from "./contexts";
import { kFrameKinds } from "./frame";
import { selfKey } from "./from_table";

export class FunctionTable extends Table {
  constructor(
    from: Table,
    private readonly contexts: Contexts,
    private readonly chosen: Chosen,
    costs: string[],
  ) {
    const rows = contexts.functions();
    const { frames } = contexts;
    const columns: Column[] = [
      { key: "name", title: "Name", unit: "text" },
      { key: "kind", title: "Kind", unit: "text" },
      { key: "library", title: "Library", unit: "text" },
    ];
    const cells = new Map<string, Cells>([
      ["name", (row) => frames[rows[row].frame].key.replace(/^\S+ /, "")],
      ["kind", (row) => kFrameKinds[frames[rows[row].frame].kind]],
      ["library", (row) => frames[rows[row].frame].library],
    ]);
    costs.forEach((key, i) => {
      const { title, unit } = from.columns.find((column) => column.key === key)!;
      cells.set(selfKey(key), (row) => rows[row].self[i]);
      columns.push({ key: selfKey(key), title: key === "calls" ? title : `Self ${title}`, unit });
      if (key === "calls") return;
      cells.set(key, (row) => rows[row].total[i]);
      columns.push({ key, title, unit });
    });
    super(from.at, columns, [], { n: rows.length, columns: cells }, 0, "by function");
    this.frameOf = (row) => rows[row].frame;
  }
  readonly frameOf: (row: number) => number;

  get count(): string {
    return ruleOf(this.at, this.chosen, "n_rows", {});
  }
  figure(row: number, key: string): string {
    const frame = this.contexts.frames[this.frameOf(row)].key;
    return ruleOf(this.at, this.chosen, key, { function: frame });
  }
}
