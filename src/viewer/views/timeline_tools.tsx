// Above the canvas: the search with its hits, and buttons for what the keys do.
import { useEffect, useRef, useState } from "preact/hooks";
import { Derived } from "../figure";
import { useParam } from "../state";
import { useBell, type Bells } from "../timeline/bell";
import { rankOf, search as find, type Hits } from "../timeline/search";
import type { Stage } from "../timeline/stage";

const kTyping = 150; // ms

// What the search finds in all that is shown, of the whole time.
export function useHits(stage: Stage | undefined, say: string, setSay: (text: string) => void) {
  const [search, setSearch] = useParam("q");
  const [hits, setHits] = useState<Hits[]>([]);
  const [searched, setSearched] = useState("");
  const sources = stage?.sources() ?? [];
  const which = sources.map(({ id }) => id).join(" ");
  useEffect(() => {
    if (!stage) return;
    let wanted = true;
    if (say) setSay("");
    const timer = setTimeout(
      async () => {
        const found = search ? await Promise.all(stage.sources().map((source) => find(source, search))) : [];
        if (!wanted) return;
        stage.find(found);
        setHits(found);
        setSearched(search);
      },
      search && search !== searched ? kTyping : 0,
    );
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [stage, search, which]);
  return { hits, searching: search !== searched, search, setSearch };
}

interface Props {
  stage: Stage | undefined;
  bells: Bells;
  hits: Hits[];
  searching: boolean;
  search: string;
  setSearch: (text: string) => void;
  say: string;
  onHit: (way: 1 | -1) => void;
}

const kSearches =
  "A text that is in the name of a slice, in what the trace says of it (shapes, sizes), or in its call stack; " +
  'in quotes a whole name: "aten::mm"';

export function Tools({ stage, bells, hits, searching, search, setSearch, say, onHit }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const any = hits.some(({ inTime }) => inTime.length > 0);
  const keys = (e: KeyboardEvent) => {
    if (e.key === "Enter") onHit(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") {
      field.current?.blur();
      stage?.canvas.focus({ preventScroll: true });
    } else return;
    e.preventDefault();
  };
  return (
    <div class="tools tl-tools">
      <input
        type="search"
        class="search"
        ref={field}
        aria-label="Search all slices"
        placeholder='Search names, shapes, stacks (/); "name" for one'
        title={kSearches}
        value={search}
        onInput={(e) => setSearch(e.currentTarget.value)}
        onKeyDown={keys}
      />
      <span class="tl-hits" role="status">
        {search && !searching && stage && <HitCount stage={stage} bells={bells} hits={hits} />}
        {searching && "searching"}
        {say && <span class="muted">{say}</span>}
      </span>
      <button
        type="button"
        title="Previous hit (p)"
        aria-label="Previous hit"
        disabled={!any}
        onClick={() => onHit(-1)}>
        ‹
      </button>
      <button type="button" title="Next hit (n)" aria-label="Next hit" disabled={!any} onClick={() => onHit(1)}>
        ›
      </button>
      <span class="gap" />
      <button type="button" title="Show all of the time (0)" onClick={() => stage?.motion.fit(stage.all, 0)}>
        Whole trace
      </button>
      <button type="button" title="Fit what is chosen into the width (f)" onClick={() => stage?.fit()}>
        Fit
      </button>
      <button type="button" title="Closer (w)" aria-label="Zoom in" onClick={() => zoom(stage, 0.5)}>
        +
      </button>
      <button type="button" title="Farther (s)" aria-label="Zoom out" onClick={() => zoom(stage, 2)}>
        −
      </button>
    </div>
  );
}

function zoom(stage: Stage | undefined, factor: number) {
  if (!stage) return;
  const { from, to } = stage.motion.view;
  const half = ((to - from) * factor) / 2;
  stage.motion.glideTo({ from: (from + to) / 2 - half, to: (from + to) / 2 + half });
}

function HitCount({ stage, bells, hits }: { stage: Stage; bells: Bells; hits: Hits[] }) {
  useBell(bells.chosen);
  const count = hits.reduce((sum, { inTime }) => sum + inTime.length, 0);
  const { chosen } = stage;
  const isHit = chosen && hits.some(({ source, found }) => source === chosen.source && found[chosen.slice]);
  return (
    <>
      {isHit && (
        <>
          <Derived rule="number of the hit" value={rankOf(hits, chosen) + 1} unit="count" /> of{" "}
        </>
      )}
      <b>
        <Derived rule="slices that are found" value={count} unit="count" />
      </b>{" "}
      hit{count === 1 ? "" : "s"}
    </>
  );
}
