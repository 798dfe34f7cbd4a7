// Below the canvas, what `tprof stats` says of the same time in numbers: the tracks, why the GPU was idle, launches,
// workers of DataLoaders, and the critical path. Their rows have links into the timeline.
import { at } from "../data/documents";
import { useParam, useParams } from "../state";
import { Switch } from "../widgets";
import { pointerOf, rowsOf } from "../worker";
import { WordTable } from "./words";

interface Numbers {
  key: string; // in the address
  title: string;
  tables: { word: string; part?: string; title: string }[];
}

const kNumbers: Numbers[] = [
  {
    key: "tracks",
    title: "Tracks",
    tables: [
      { word: "track", title: "Tracks" },
      { word: "track", part: "flows", title: "Arrows between slices" },
      { word: "track", part: "counters", title: "Counters" },
    ],
  },
  {
    key: "idle",
    title: "Idle GPU",
    tables: [
      { word: "idle", title: "Idle time of each GPU" },
      { word: "idle", part: "reasons", title: "What the CPU did meanwhile" },
    ],
  },
  {
    key: "launches",
    title: "Launches",
    tables: [
      { word: "launch", title: "Launches" },
      { word: "launch", part: "slow_calls", title: "Slow calls" },
      { word: "launch", part: "delayed_work", title: "Work that started late" },
      { word: "queue", title: "Queues" },
    ],
  },
  {
    key: "loaders",
    title: "DataLoader workers",
    tables: [
      { word: "loader", title: "DataLoader workers" },
      { word: "loader", part: "waits", title: "The program's wait for DataLoaders" },
    ],
  },
  {
    key: "path",
    title: "Critical path",
    tables: [
      { word: "critical-path", title: "Critical path" },
      { word: "critical-path", part: "links", title: "Its links" },
    ],
  },
];

export function Numbers({ worker }: { worker: number }) {
  const { params } = useParams();
  const there = kNumbers.filter(({ tables }) => rowsOf(tables[0].word, worker) > 0);
  const [show, setShow] = useParam("numbers");
  const shown = params.rows === "all" ? there : there.filter(({ key }) => key === show);
  if (there.length === 0) return null;
  return (
    <>
      <div class="tl-more">
        <span class="muted">In numbers</span>
        <Switch
          label="In numbers"
          value={show}
          options={there.map(({ key, title }) => [key, title])}
          onChange={(key) => setShow(key === show ? "" : key)}
        />
      </div>
      {shown.flatMap(({ tables }) =>
        tables
          .filter(({ word, part }) => !part || at(`${pointerOf(word, worker)}/${part}`) !== undefined)
          .map((table) => <WordTable key={table.title} {...table} worker={worker} empty="Nothing to show." />),
      )}
    </>
  );
}
