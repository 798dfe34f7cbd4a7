// A number on the page. Each says where it comes from: data-figure is its path in the commands' --json, data-value its
// value there. What depends on a selection made in the page has data-derived instead: the rule it is computed by.
import { exact, format, formatChange, isChange, kUnknown } from "./format";
import type { Cell } from "./data/unpack";

interface Props {
  at: string;
  value: Cell | undefined;
  unit: string;
  options?: string; // as Table has them
}

export function Figure({ at, value, unit, options }: Props) {
  const known = value === undefined ? null : value;
  return (
    <span
      class={known === null ? "figure unknown" : "figure"}
      {...source(at, options)}
      data-value={JSON.stringify(known)}
      title={known === null ? "not known" : exact(known, unit)}>
      {isChange(at.slice(at.lastIndexOf("/") + 1)) ? formatChange(known, unit) : format(known, unit)}
    </span>
  );
}

// What the command says only with options that follow from a choice made in the page: "POINTER --range 10:20".
export function source(at: string, options = "") {
  return options ? { "data-derived": `${at} ${options}` } : { "data-figure": at };
}

// `rule`: "sum of stats/op/workers/0/rows/*/calls but the first 10", say.
// `precise`: to its last digit, where two of them are compared.
export function Derived({
  rule,
  value,
  unit,
  precise = false,
}: {
  rule: string;
  value: number;
  unit: string;
  precise?: boolean;
}) {
  return (
    <span class="figure" data-derived={rule} data-value={JSON.stringify(value)} title={exact(value, unit)}>
      {precise ? exact(value, unit) : format(value, unit)}
    </span>
  );
}

// A text of a document. It may hold anything, so it is isolated: it cannot change the direction of the text beside it.
export function Said({ at, text, options }: { at: string; text: string | null; options?: string }) {
  const known = text !== null;
  return (
    <bdi {...source(at, options)} data-value={JSON.stringify(text)} class={known ? undefined : "unknown"}>
      {known ? text : kUnknown}
    </bdi>
  );
}
