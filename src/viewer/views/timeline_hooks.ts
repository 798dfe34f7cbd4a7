// How the board follows the address, links, and the workers that are unfolded.
import { useEffect, useRef, useState } from "preact/hooks";
import { useParams } from "../state";
import { areaFrom, keysFrom, refOf, spanFrom, written } from "../timeline/address";
import type { Bells } from "../timeline/bell";
import { pickOf, type Pick } from "../timeline/href";
import type { Group } from "../timeline/layout";
import { longestOf, nearestOf, type Hits } from "../timeline/search";
import { spanOf } from "../timeline/selection";
import type { Ref, Source } from "../timeline/source";
import { othersOf, otherSource, shiftOf, titleOfWorker } from "../timeline/sources";
import type { Stage } from "../timeline/stage";
import { groupOf } from "../timeline/tracks";

export interface Scene {
  worker: number;
  main: Source;
  groups: Group[];
  zero: number; // ns on the timeline at which tables and advice begin to count
}

const kSettling = 250; // ms without a move until the address says where one is

// Reads the address when it was changed from outside, and writes it when things have come to rest.
export function useAddressOf(stage: Stage | undefined, bells: Bells): boolean {
  const { params, set } = useParams();
  const last = useRef<Record<string, string>>({});
  const latest = useRef(set);
  latest.current = set;
  const [busy, setBusy] = useState(false);

  // Before the address is first read: a range beyond the trace is corrected in it.
  useEffect(() => {
    if (!stage) return;
    let timer = 0;
    const later = () => {
      clearTimeout(timer);
      setBusy(true);
      timer = window.setTimeout(() => {
        if (stage.motion.moves) return later();
        setBusy(false);
        const next = written(stage);
        if (Object.keys(next).every((key) => (last.current[key] ?? "") === next[key])) return;
        last.current = next;
        latest.current(next);
      }, kSettling);
    };
    const offs = [bells.moves.on(later), bells.settled.on(later), bells.chosen.on(later)];
    return () => {
      clearTimeout(timer);
      for (const off of offs) off();
    };
  }, [stage]);
  useEffect(() => {
    if (!stage) return;
    const own = written(stage);
    const foreign = Object.keys(own).some((key) => (params[key] ?? "") !== (last.current[key] ?? ""));
    if (!foreign) return;
    for (const key of Object.keys(own)) last.current[key] = params[key] ?? "";
    if ((params.turned ?? "") !== own.turned) stage.lay(stage.groups, keysFrom(params.turned));
    stage.motion.set(spanFrom(params) ?? stage.all);
    stage.scrollTo(Number(params.y) || 0);
    stage.chosen = refOf(stage, params.slice);
    stage.area = areaFrom(stage, params);
    stage.setMark(spanOf(params.mark));
    if (stage.chosen && !params.from) stage.reveal(stage.chosen);
  }, [stage, params]);
  return busy;
}

// A link into the timeline names a slice: see timeline/href.ts.
export function usePick(stage: Stage | undefined, hits: Hits[], searching: boolean) {
  const { params, set } = useParams();
  useEffect(() => {
    const pick = pickOf(params.pick);
    if (!stage || !pick || searching || (pick.kind !== "step" && hits.length === 0)) return;
    set({ pick: "" });
    const ref = pick.kind === "step" ? stepOf(stage, pick.number) : hitOf(stage, hits, pick);
    if (!ref) return;
    stage.choose(ref);
    stage.fit(pick.kind === "step" ? 0.1 : kAround);
  }, [stage, params.pick, hits, searching]);
}

const kAround = 3; // of the length of a slice, that a link shows at both sides of it

function hitOf(stage: Stage, hits: Hits[], pick: Exclude<Pick, { kind: "step" }>): Ref | undefined {
  const main = hits.find(({ source }) => source.id === "");
  if (!main) return undefined;
  const slice =
    pick.kind === "longest"
      ? longestOf(main)
      : nearestOf(main, pick.ns + (pick.zero === "first" ? stage.zero : 0), pick.thread);
  return slice === undefined ? undefined : { source: main.source, slice };
}

function stepOf(stage: Stage, number: number): Ref | undefined {
  const track = stage.groups[0]?.tracks.find(({ key }) => key === "step");
  if (!track) return undefined;
  for (const lane of track.lanes)
    for (let i = 0; i < lane.n; i++)
      if (track.source.name(lane.slice(i)) === `ProfilerStep#${number}`)
        return { source: track.source, slice: lane.slice(i) };
  return undefined;
}

// Groups of other workers, whose slices are read when one is unfolded.
export function foldedRanks(worker: number): Group[] {
  return othersOf(worker).map((other) => ({
    key: `worker/${other}`,
    title: titleOfWorker(other),
    tracks: [],
    open: false,
    hint:
      shiftOf(worker, other) === undefined ? "as if it had begun together with this one: its clock is not known" : "",
  }));
}

export function useRanks(stage: Stage | undefined, { worker }: Scene, bells: Bells) {
  useEffect(() => {
    if (!stage) return;
    const asked = new Set<string>();
    const look = () => {
      for (const group of stage.groups) {
        const other = /^worker\/(\d+)$/.exec(group.key)?.[1];
        if (other === undefined || asked.has(group.key) || !stage.turned.has(group.key)) continue;
        asked.add(group.key);
        void otherSource(worker, Number(other)).then((source) => {
          const full = { ...groupOf(source, group.key, group.title), hint: group.hint };
          stage.lay(
            stage.groups.map((one) => (one.key === group.key ? full : one)),
            stage.turned,
          );
        });
      }
    };
    look();
    return bells.settled.on(look);
  }, [stage]);
}
