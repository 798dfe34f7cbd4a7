// Where the rows of a table are on the timeline, by the word of `tprof stats` (and the part of its document) that
// prints it. Tables that are not here have no links into the timeline.
import type { Table } from "../data/documents";
import type { Wanted } from "./href";

type Rule = (table: Table, row: number) => Wanted | undefined;

const named: Rule = (table, row) => {
  const name = table.text(row, "name").trim();
  return name ? { name } : undefined;
};
// Of a tree: threads are at its top.
const branch: Rule = (table, row) => (table.text(row, "kind") === "thread" ? undefined : named(table, row));
// `at` counts from the first event.
const timed: Rule = (table, row) => {
  const [wanted, at] = [named(table, row), table.number(row, "at")];
  return wanted && at !== null ? { ...wanted, at, thread: table.number(row, "tid") } : wanted;
};

const kRules: Record<string, Rule> = {
  op: named,
  "op+shape": named,
  "op+stack": named,
  "op+shape+stack": named,
  kernel: named,
  "kernel+op": named,
  module: named,
  lightning: named,
  tree: branch,
  timeline: named,
  line: named,
  flops: named,
  "flops/without_flops": named,
  memory: named,
  "memory/events": (table, row) => {
    const [name, at] = [table.text(row, "operator"), table.number(row, "allocation_time")];
    return name && at !== null ? { name, at, zero: "begin" } : undefined;
  },
  "idle/reasons": named,
  "launch/slow_calls": timed,
  "launch/delayed_work": timed,
  "critical-path/links": named,
  slice: named,
};

export function ruleOf(table: Table): Rule | undefined {
  const found = /^stats\/([^/]+)\/workers\/\d+(?:\/(.+))?$/.exec(table.at);
  if (found) return kRules[found[2] ? `${found[1]}/${found[2]}` : found[1]];
  // The average of several steps is their last row, and is none.
  if (/^steps\/workers\/\d+$/.test(table.at))
    return (one, row) => (one.n > 1 && row === one.n - 1 ? undefined : { step: row });
  return undefined;
}
