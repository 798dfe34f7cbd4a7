// What lies where, from top to bottom: groups with their tracks, folded or open. Heights are in CSS pixels.
import type { Counter } from "../data/timeline_types";
import type { Lane } from "./lanes";
import type { Source } from "./source";

export const kRow = 18;
export const kCounter = 44;
export const kGroup = 24;
const kBelow = 5; // space below a track
const kFoldedRow = 14;

export interface Track {
  key: string; // unique in the page
  group: string;
  kind: string;
  title: string;
  source: Source;
  number: number; // of the source's tracks; -1: derived from several
  lanes: Lane[];
  counter?: Counter;
  open: boolean; // at first
}

export interface Group {
  key: string;
  title: string;
  tracks: Track[];
  open: boolean; // at first
  hint?: string; // what is said where its tracks are not here yet
}

export interface Placed {
  kind: "group" | "track";
  group: Group;
  track?: Track;
  open: boolean;
  top: number;
  height: number;
  rows: number; // shown
}

export interface Layout {
  items: Placed[];
  height: number;
  byTrack: Map<Track, Placed>;
}

// `turned`: keys of groups and tracks that are not as they are at first.
export function layOut(groups: Group[], turned: Set<string>): Layout {
  const items: Placed[] = [];
  const byTrack = new Map<Track, Placed>();
  let top = 0;
  for (const group of groups) {
    const open = group.open !== turned.has(group.key);
    items.push({ kind: "group", group, open, top, height: kGroup, rows: 0 });
    top += kGroup;
    if (!open) continue;
    for (const track of group.tracks) {
      const shown = track.open !== turned.has(track.key);
      const rows = track.counter ? 0 : shown ? track.lanes.length : Math.min(1, track.lanes.length);
      const height = (track.counter ? (shown ? kCounter : kRow) : Math.max(kRow, rows * kRow)) + kBelow;
      const item: Placed = { kind: "track", group, track, open: shown, top, height, rows };
      items.push(item);
      byTrack.set(track, item);
      top += height;
    }
  }
  return { items, height: top + kFoldedRow, byTrack };
}

// Items that a window of the list shows, [from, to).
export function inSight({ items }: Layout, top: number, height: number): [number, number] {
  const from = lastAt(items, top);
  let to = from;
  while (to < items.length && items[to].top < top + height) to++;
  return [from, to];
}

export function itemAt({ items }: Layout, y: number): Placed | undefined {
  const item = items[lastAt(items, y)];
  return item && y >= item.top && y < item.top + item.height ? item : undefined;
}

function lastAt(items: Placed[], y: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].top <= y) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
