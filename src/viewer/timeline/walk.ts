// From a slice to the next one: in its row, to what is around it or inside of it, to other tracks, along arrows.
import { arrowsFrom, arrowsTo } from "./flows";
import type { Track } from "./layout";
import type { Ref } from "./source";
import type { Stage } from "./stage";

export type Way = "left" | "right" | "up" | "down";

export function walked(stage: Stage, way: Way): Ref | undefined {
  const { chosen } = stage;
  if (!chosen) return first(stage);
  const { source, slice } = chosen;
  const at = (found: number): Ref | undefined => (found < 0 ? undefined : { source, slice: found });
  switch (way) {
    case "left":
      return at(source.neighbour(slice, -1));
    case "right":
      return at(source.neighbour(slice, 1));
    case "up":
      return at(source.parent(slice)) ?? onTrack(stage, chosen, -1);
    case "down":
      return at(source.firstChild(slice)) ?? onTrack(stage, chosen, 1);
  }
}

// The first slice of the first track in sight that has one.
export function first(stage: Stage): Ref | undefined {
  const { from, to } = stage.motion.view;
  for (const { track } of [...stage.inSight(), ...stage.layout.items]) {
    if (!track || track.number < 0 || track.source.id !== "") continue;
    const lane = track.lanes[0];
    const i = lane?.firstEnding(from) ?? 0;
    if (lane && i < lane.n && lane.begin[i] < to) return { source: track.source, slice: lane.slice(i) };
  }
  return undefined;
}

// Of the next track that is not folded away, the outermost slice nearest to it in time.
function onTrack(stage: Stage, ref: Ref, way: 1 | -1): Ref | undefined {
  const tracks = stage.layout.items.flatMap(({ track }): Track[] => (track && track.number >= 0 ? [track] : []));
  const own = stage.trackOf(ref);
  for (let k = own ? tracks.indexOf(own) + way : -1; k >= 0 && k < tracks.length; k += way) {
    const lane = tracks[k].lanes[0];
    const i = lane ? lane.at(ref.source.begin(ref.slice), Infinity) : -1;
    if (i >= 0) return { source: tracks[k].source, slice: lane.slice(i) };
  }
  return undefined;
}

// Along an arrow: from a launch to its kernel, from a forward operator to its backward, and back. If the slice has none
// of its own, the next one inside of it that has.
export function followed(stage: Stage, way: 1 | -1): Ref | undefined {
  if (!stage.chosen) return undefined;
  const { source, slice } = stage.chosen;
  const arrow = (way > 0 ? arrowsFrom : arrowsTo)(source.timeline, slice)[0];
  if (arrow) return { source, slice: way > 0 ? arrow.to : arrow.from };
  const inner = within(stage.chosen, way);
  return inner === undefined ? undefined : { source, slice: inner };
}

const kMaxInside = 10000; // slices that are looked through

// Where the first arrow from inside of a slice leads.
function within({ source, slice }: Ref, way: 1 | -1): number | undefined {
  const { track, row } = source.place(slice);
  const [begin, end] = [source.begin(slice), source.end(slice)];
  let looked = 0;
  for (const lane of source.lanes[track].slice(row + 1))
    for (let i = lane.firstFrom(begin); i < lane.n && lane.end(i) <= end && looked < kMaxInside; i++, looked++) {
      const arrow = (way > 0 ? arrowsFrom : arrowsTo)(source.timeline, lane.slice(i))[0];
      if (arrow) return way > 0 ? arrow.to : arrow.from;
    }
  return undefined;
}
