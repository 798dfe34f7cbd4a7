// Where the rows of a table are on the timeline, by the word of `tprof stats` (and the part of its document) that
// prints it. Tables that are not here have no links into the timeline.
import type { Table } from "../data/documents";
import { callOfModule } from "../modules";
import type { Wanted } from "./href";

type Rule = (table: Table, row: number) => Wanted | undefined;

// Rows in which the times of all steps, or of all stretches of a kind, are one: no slice has such a name.
const kMany = /^(ProfilerStep|Evaluation|Inference|After the loop|Left over)\*$/;
const named: Rule = (table, row) => {
  const name = table.text(row, "name").trim();
  return name && !kMany.test(name) ? { name } : undefined;
};
// Of a tree: threads are at its top.
const branch: Rule = (table, row) => (table.text(row, "kind") === "thread" ? undefined : named(table, row));
// The column's moment counts from the first event.
const timed =
  (column: string): Rule =>
  (table, row) => {
    const [wanted, at] = [named(table, row), table.number(row, column)];
    return wanted && at !== null ? { ...wanted, at, thread: table.number(row, "tid") } : wanted;
  };

// Of what the path waited for; copies are one for each direction, their slices have names of their own.
const onPath: Rule = (table, row) => {
  const name = table.text(row, "name").replace(/^before /, "");
  return name && table.text(row, "kind") !== "copies" ? { name } : undefined;
};

const kRules: Record<string, Rule> = {
  op: named,
  "op+shape": named,
  "op+stack": named,
  "op+shape+stack": named,
  kernel: named,
  "kernel+op": named,
  module: (table, row) => ({ name: callOfModule(table.text(row, "name").trim()) }),
  tree: branch,
  timeline: timed("begin"),
  flops: named,
  "flops/without_flops": named,
  memory: named,
  "memory/events": (table, row) => {
    const [name, at] = [table.text(row, "operator"), table.number(row, "allocation_time")];
    return name && at !== null ? { name, at, zero: "begin" } : undefined;
  },
  "idle/reasons": named,
  "launch/slow_calls": timed("at"),
  "launch/delayed_work": timed("at"),
  "critical-path/links": onPath,
  slice: named,
};

export function ruleOf(table: Table): Rule | undefined {
  const found = /^stats\/([^/]+)\/workers\/\d+(?:\/(.+))?$/.exec(table.at);
  if (found) return kRules[found[2] ? `${found[1]}/${found[2]}` : found[1]];
  // Their last row is an average, and has no number.
  if (/^steps\/workers\/\d+$/.test(table.at))
    return (one, row) => {
      const number = one.text(row, "step");
      return /^\d+$/.test(number) ? { step: Number(number) } : undefined;
    };
  return undefined;
}
