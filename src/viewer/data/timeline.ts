// The timeline of a worker, from the columns that src/report/timeline.h describes.
import { at } from "./documents";
import type { Elsewhere } from "./types";
import { Guesses, readCounters, readFlow, readTimes } from "./timeline_code";
import type { Timeline, TimelineDetails, Track } from "./timeline_types";
import { Details } from "./timeline_details";
import { inflateBlob, Reader } from "./unpack";

interface Said {
  slices: number; // in the page
  all: number; // of the span
  left_out: string[];
  columns?: Record<string, Elsewhere>;
}

interface Head {
  n: number;
  tracks: (Omit<Track, "rows"> & { rows: number[] })[];
  entries: [string, string][]; // name and category
}

interface Loaded {
  timeline: Timeline;
  entry: Uint32Array; // of each slice: its number in Head.entries
}

const timelines = new Map<number, Promise<Loaded>>();
const details = new Map<number, Promise<TimelineDetails>>();

// Each is read once and kept.
export async function loadTimeline(worker: number): Promise<Timeline> {
  return (await loaded(worker)).timeline;
}

export function loadDetails(worker: number): Promise<TimelineDetails> {
  let made = details.get(worker);
  if (!made) details.set(worker, (made = readDetails(worker)));
  return made;
}

function loaded(worker: number): Promise<Loaded> {
  let made = timelines.get(worker);
  if (!made) timelines.set(worker, (made = readTimeline(worker)));
  return made;
}

function saidOf(worker: number): Said {
  return at(`timeline/workers/${worker}`) as unknown as Said;
}

async function column(said: Said, name: string): Promise<Reader> {
  const where = said.columns![name];
  if ("left_out" in where) throw new Error(`the page has no timeline column ${name}`);
  return new Reader(await inflateBlob(where.packed));
}

// Whether the slices are in the page; a page that was too large lost all columns or none.
function isThere(said: Said): boolean {
  return said.columns !== undefined && Object.values(said.columns).every((where) => "packed" in where);
}

async function readTimeline(worker: number): Promise<Loaded> {
  const said = saidOf(worker);
  if (!isThere(said)) return { timeline: nothing(said), entry: new Uint32Array(0) };
  const names = ["head", "entry", "begin", "duration", "launch", "backward", "counters"];
  const [headOf, entryOf, beginOf, durationOf, launchOf, backwardOf, countersOf] = await Promise.all(
    names.map((name) => column(said, name)),
  );
  const head = headOf.json() as unknown as Head;
  const tracks = placed(head);
  const entry = readEntries(tracks, head.n, entryOf);
  const { begin, dur, from, to } = readTimes(tracks, head.n, beginOf, durationOf);
  const timeline: Timeline = {
    n: head.n,
    from,
    to,
    tracks,
    begin,
    dur,
    ...named(head.entries, entry),
    flows: [
      { kind: "launch", ...readFlow(launchOf) },
      { kind: "backward", ...readFlow(backwardOf) },
    ],
    counters: readCounters(countersOf),
    left_out: said.left_out,
  };
  return { timeline, entry };
}

function nothing(said: Said): Timeline {
  const gone =
    `None of the ${said.all} slices are in this page, which would be larger than --max-size: ` +
    "a larger one shows them.";
  return {
    n: 0,
    from: 0,
    to: 0,
    tracks: [],
    begin: new Float64Array(0),
    dur: new Float64Array(0),
    name: new Uint32Array(0),
    category: new Uint8Array(0),
    names: [],
    categories: [],
    flows: [],
    counters: [],
    left_out: said.columns ? [gone, ...said.left_out] : said.left_out, // without columns the report has said why
  };
}

// The tracks with the slices that each row has; their sums are still to be filled.
function placed(head: Head): Track[] {
  let first = 0;
  return head.tracks.map(({ rows, ...track }) => ({
    ...track,
    rows: rows.map((n) => {
      const row = { first, n, sums: new Float64Array(n + 1) };
      first += n;
      return row;
    }),
  }));
}

function readEntries(tracks: Track[], n: number, reader: Reader): Uint32Array {
  const out = new Uint32Array(n);
  const guesses = new Guesses();
  let second = 0;
  for (const { rows } of tracks) {
    for (const { first, n: count } of rows) {
      let before = 0;
      for (let i = first; i < first + count; i++) {
        const entry = guesses.next(reader, before, second);
        out[i] = entry;
        second = before;
        before = entry + 1;
      }
    }
  }
  return out;
}

// Names and categories by their own numbers: a name may come in several categories.
function named(
  entries: [string, string][],
  entry: Uint32Array,
): Pick<Timeline, "name" | "names" | "category" | "categories"> {
  const names = new Map<string, number>();
  const categories = new Map<string, number>();
  const nameOf = Uint32Array.from(entries, ([name]) => numberOf(names, name));
  const categoryOf = Uint8Array.from(entries, ([, category]) => numberOf(categories, category));
  const category = new Uint8Array(entry.length);
  for (let i = 0; i < entry.length; i++) category[i] = categoryOf[entry[i]];
  const name = names.size === entries.length ? entry : entry.map((one) => nameOf[one]);
  return { name, names: [...names.keys()], category, categories: [...categories.keys()] };
}

function numberOf(known: Map<string, number>, text: string): number {
  let number = known.get(text);
  if (number === undefined) known.set(text, (number = known.size));
  return number;
}

async function readDetails(worker: number): Promise<TimelineDetails> {
  const said = saidOf(worker);
  const { timeline, entry } = await loaded(worker);
  if (!isThere(said)) return new Details(timeline.tracks, entry, []);
  const names = ["sets", "set", "numbers", "frames", "stack"];
  return new Details(timeline.tracks, entry, await Promise.all(names.map((name) => column(said, name))));
}
