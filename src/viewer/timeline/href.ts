// Links from tables and advice into the timeline. A link names what it means; the timeline looks for it when it opens.
import type { Params } from "../state";

export interface Wanted {
  name?: string; // searches exactly this name, and chooses the longest slice of it
  at?: number; // us: the one of this name that begins nearest to it
  zero?: "first" | "begin"; // since when `at` counts: the first event, as in advice, or the begin of the span
  thread?: number | null; // on this thread
  step?: number; // the step of this number
}

export function timelineHref({ name, at, zero = "first", thread, step }: Wanted): Params {
  const out: Params = { view: "timeline" };
  if (step !== undefined) out.pick = `step:${step}`;
  if (name === undefined) return out;
  out.q = `"${name}"`;
  out.pick = at === undefined ? "longest" : [zero, at, ...(thread == null ? [] : [thread])].join(":");
  return out;
}

export type Pick =
  | { kind: "longest" }
  | { kind: "step"; number: number }
  | { kind: "at"; zero: "first" | "begin"; ns: number; thread?: number };

// What a link names; an address may hold anything.
export function pickOf(text: string | undefined): Pick | undefined {
  if (text === "longest") return { kind: "longest" };
  const step = /^step:(\d+)$/.exec(text ?? "");
  if (step) return { kind: "step", number: Number(step[1]) };
  const at = /^(first|begin):(-?\d+(?:\.\d+)?)(?::(-?\d+))?$/.exec(text ?? "");
  if (!at) return undefined;
  const thread = at[3] === undefined ? undefined : Number(at[3]);
  return { kind: "at", zero: at[1] as "first" | "begin", ns: Math.round(Number(at[2]) * 1000), thread };
}
