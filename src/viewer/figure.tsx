// A number on the page. Each says where it comes from: data-figure is its path in the commands' --json, data-value its
// value there. What depends on a selection made in the page has data-derived instead: the rule it is computed by.
import { exact, format, kUnknown } from "./format";
import type { Cell } from "./data/unpack";

interface Props {
  at: string;
  value: Cell | undefined;
  unit: string;
}

export function Figure({ at, value, unit }: Props) {
  const known = value === undefined ? null : value;
  return (
    <span class={known === null ? "figure unknown" : "figure"} data-figure={at} data-value={JSON.stringify(known)}
          title={known === null ? "not known" : exact(known, unit)}>
      {format(known, unit)}
    </span>
  );
}

// `rule`: "sum of stats/op/workers/0/rows/*/calls but the first 10", say.
export function Derived({ rule, value, unit }: { rule: string; value: number; unit: string }) {
  return (
    <span class="figure" data-derived={rule} data-value={JSON.stringify(value)} title={exact(value, unit)}>
      {format(value, unit)}
    </span>
  );
}

// A text of a document, which may hold anything: it is isolated, so that it cannot turn the direction of what is beside it.
export function Said({ at, text }: { at: string; text: string | null }) {
  return <bdi data-figure={at} data-value={JSON.stringify(text)} class={text ? undefined : "unknown"}>{text || kUnknown}</bdi>;
}
