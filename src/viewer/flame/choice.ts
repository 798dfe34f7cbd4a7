// What the Flame graphs view shows: all of it in the address.
import { useMemo } from "preact/hooks";
import { useParams, type Params } from "../state";
import type { Choice } from "./from_table";

export type Order = "left" | "inverted" | "sandwich";

export interface Chosen extends Choice {
  source: string;
  cost: string; // the column that bars are as wide as
  order: Order;
  of: string; // key of the frame in the middle of a sandwich
  find: string;
  colors: "library" | "kind";
  zoom: number; // contexts; -1: none
  at: number;
}

const listOf = (text: string | undefined): string[] => {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
};
const numberOf = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? Number(text) : -1);

export function useChosen(): { chosen: Chosen; set: (changes: Partial<Chosen>) => void } {
  const { params, set } = useParams();
  const chosen = useMemo(() => chosenOf(params), [JSON.stringify(params)]);
  return {
    chosen,
    set: (changes) => {
      const out: Params = {};
      // Contexts are numbered anew where others are shown.
      if (Object.keys(changes).some((key) => !["find", "colors", "zoom", "at"].includes(key))) out.zoom = out.at = "";
      for (const [key, value] of Object.entries(changes)) out[key] = written(key, value);
      set(out);
    },
  };
}

// A value in the address; "" where it is what is shown without it.
function written(key: string, value: string | number | boolean | string[]): string {
  if (Array.isArray(value)) return value.length > 0 ? JSON.stringify(value) : "";
  if (typeof value === "boolean") return value ? "1" : "";
  if (typeof value === "number") return value < 0 ? "" : String(value);
  return value === kUsual[key] ? "" : value;
}
const kUsual: Record<string, string> = { order: "left", colors: "library" };

function chosenOf(params: Params): Chosen {
  return {
    source: params.source ?? "",
    cost: params.cost ?? "",
    thread: params.thread ?? "",
    lines: params.lines === "1",
    hidden: listOf(params.hidden),
    without: listOf(params.without),
    order: params.order === "inverted" || params.order === "sandwich" ? params.order : "left",
    of: params.of ?? "",
    find: params.find ?? "",
    colors: params.colors === "kind" ? "kind" : "library",
    zoom: numberOf(params.zoom),
    at: numberOf(params.at),
  };
}

// How the tests find the same figure: of the contexts `of`, or of the frame, of one cost.
export function ruleOf(table: string, chosen: Choice, cost: string, of: Record<string, unknown>): string {
  const { thread, lines, hidden, without } = chosen;
  return `flame ${JSON.stringify({ table, cost, thread, lines, hidden, without, ...of })}`;
}
