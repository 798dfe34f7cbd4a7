// Which tracks there are, in groups: what follows from the slices (steps, modules, advice) above the threads and
// streams.
import type { Timeline } from "../data/timeline_types";
import { Lane } from "./lanes";
import type { Group, Track } from "./layout";
import { Source } from "./source";

const kManyRows = 300; // if there are more, each track is one row at first
const kFolded = new Set(["overhead"]); // groups that are folded at first

export function groupsOf(main: Source, advice?: Source): Group[] {
  const groups: Group[] = [];
  const add = (key: string, title: string, tracks: Track[]) => {
    if (tracks.length > 0) groups.push({ key, title, tracks, open: true });
  };
  add("steps", "Steps", [
    ...derived(main, "steps", "step", "Steps"),
    ...derived(main, "steps", "evaluation", "Evaluations"),
    ...derived(main, "steps", "after_loop", "After the loop"),
    ...derived(main, "steps", "left_over", "Left over"),
    ...derived(main, "steps", "between", "Between the steps"),
    ...(advice ? tracksOf(advice) : []),
  ]);
  add("modules", "Modules", modulesOf(main));
  for (const group of inGroups(tracksOf(main)))
    groups.push({ ...group, title: titleOfGroup(group.key), open: !kFolded.has(group.key) });
  foldMany(groups);
  return groups;
}

// All tracks of another worker in one group.
export function groupOf(source: Source, key: string, title: string): Group {
  const tracks = [...derived(source, key, "step", "Steps"), ...tracksOf(source)].map((track) => ({
    ...track,
    key: `${key}/${track.key}`,
    group: key,
    title: track.kind === "derived" ? track.title : `${titleOfGroup(track.group)}: ${track.title}`,
    open: false,
  }));
  return { key, title, tracks, open: false };
}

function foldMany(groups: Group[]) {
  const rows = groups.reduce((sum, { tracks }) => sum + tracks.reduce((n, { lanes }) => n + lanes.length, 0), 0);
  if (rows <= kManyRows) return;
  for (const { tracks } of groups) for (const track of tracks) if (!track.counter) track.open = false;
}

function inGroups(tracks: Track[]): Group[] {
  const groups = new Map<string, Group>();
  for (const track of tracks) {
    let group = groups.get(track.group);
    if (!group) groups.set(track.group, (group = { key: track.group, title: "", tracks: [], open: true }));
    group.tracks.push(track);
  }
  return [...groups.values()];
}

function tracksOf(source: Source): Track[] {
  const { tracks, counters } = source.timeline;
  return [
    ...tracks.map((track, number) => ({
      key: track.key,
      group: track.group,
      kind: track.kind,
      title: track.title,
      source,
      number,
      lanes: source.lanes[number],
      open: true,
    })),
    ...counters.map((counter) => ({
      key: counter.key,
      group: counter.group,
      kind: "counter",
      title: counter.title,
      source,
      number: -1,
      lanes: [],
      counter,
      open: true,
    })),
  ];
}

function derived(source: Source, group: string, category: string, title: string): Track[] {
  const lanes = lanesOf(source.timeline, category);
  if (lanes.length === 0) return [];
  return [{ key: category, group, kind: "derived", title, source, number: -1, lanes, open: true }];
}

// One track for each thread in which modules were called.
function modulesOf(source: Source): Track[] {
  const { timeline } = source;
  const tracks: Track[] = [];
  timeline.tracks.forEach(({ key, title, rows }) => {
    const lanes = lanesOf(timeline, "module", rows);
    if (lanes.length > 0)
      tracks.push({
        key: `modules/${key}`,
        group: "modules",
        kind: "derived",
        title,
        source,
        number: -1,
        lanes,
        open: true,
      });
  });
  return tracks;
}

// Slices of a category, in as many rows as lie in one another.
function lanesOf(timeline: Timeline, category: string, rows?: { first: number; n: number }[]): Lane[] {
  const wanted = timeline.categories.indexOf(category);
  if (wanted < 0) return [];
  const ids: number[] = [];
  for (const { first, n } of rows ?? [{ first: 0, n: timeline.n }])
    for (let i = first; i < first + n; i++) if (timeline.category[i] === wanted) ids.push(i);
  const { begin, dur } = timeline;
  ids.sort((a, b) => begin[a] - begin[b] || dur[b] - dur[a] || a - b);
  const out: number[][] = [];
  const ends: number[] = [];
  for (const id of ids) {
    let row = 0;
    while (row < ends.length && ends[row] > begin[id]) row++;
    (out[row] ??= []).push(id);
    ends[row] = begin[id] + dur[id];
  }
  return out.map((one) => Lane.ofSlices(timeline, Uint32Array.from(one)));
}

function titleOfGroup(key: string): string {
  return key.replace(/^gpu\b/, "GPU").replace(/^./, (letter) => letter.toUpperCase());
}
