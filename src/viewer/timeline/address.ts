// What is seen, in the address: from, to (µs), y (pixels), turned (folded or unfolded against what is so at first),
// slice, sel and on (a range and its tracks), mark. A link shows the same.
import type { Params } from "../state";
import type { Track } from "./layout";
import { rangeText, spanOf } from "./selection";
import type { Ref } from "./source";
import type { Area, Span, Stage } from "./stage";

export const kOwn = ["from", "to", "y", "turned", "slice", "sel", "on", "mark"];

const us = (ns: number) => String(Math.round(ns) / 1000);
const listOf = (keys: string[]) => keys.map(encodeURIComponent).join(",");

export function written(stage: Stage): Params {
  const { from, to } = stage.motion.view;
  const { all, area, mark, chosen } = stage;
  const whole = from === all.from && to === all.to;
  return {
    from: whole ? "" : us(from),
    to: whole ? "" : us(to),
    y: stage.scrollTop > 0 ? String(Math.round(stage.scrollTop)) : "",
    turned: listOf([...stage.turned].sort()),
    slice: chosen ? textOf(chosen) : "",
    sel: area ? rangeText(area) : "",
    on: area?.tracks ? listOf([...area.tracks].map(({ key }) => key)) : "",
    mark: mark ? rangeText(mark) : "",
  };
}

export const textOf = ({ source, slice }: Ref) => (source.id ? `${source.id}.${slice}` : String(slice));

export function refOf(stage: Stage, text: string | undefined): Ref | undefined {
  const found = /^(?:([a-z0-9]+)\.)?(\d{1,9})$/.exec(text ?? "");
  const source = found && stage.sources().find(({ id }) => id === (found[1] ?? ""));
  const slice = Number(found?.[2]);
  return source && slice < source.timeline.n ? { source, slice } : undefined;
}

export function spanFrom({ from, to }: Params): Span | undefined {
  if (from === undefined || to === undefined) return undefined;
  const span = { from: Number(from) * 1000, to: Number(to) * 1000 };
  return Number.isFinite(span.from) && Number.isFinite(span.to) && span.from < span.to ? span : undefined;
}

export function areaFrom(stage: Stage, { sel, on }: Params): Area | undefined {
  const span = spanOf(sel);
  if (!span) return undefined;
  if (on === undefined) return span;
  const keys = keysFrom(on);
  const tracks = stage.groups.flatMap((group) => group.tracks.filter(({ key }) => keys.has(key)));
  return { ...span, tracks: new Set<Track>(tracks) };
}

export function keysFrom(text: string | undefined): Set<string> {
  const keys = (text ?? "").split(",").filter(Boolean);
  return new Set(
    keys.flatMap((key) => {
      try {
        return [decodeURIComponent(key)];
      } catch {
        return []; // an address may hold anything
      }
    }),
  );
}
