// The canvas with its axis and labels, the tools above it and the details below. What is seen is in the address.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useParams } from "../state";
import { keysFrom } from "../timeline/address";
import { kAxis, kOverview } from "../timeline/axis";
import { Bell, type Bells } from "../timeline/bell";
import { kTimelineKeys, listen } from "../timeline/keys";
import { colorsNow } from "../timeline/paint";
import { listenToPointer } from "../timeline/pointer";
import { nextHit, type Hits } from "../timeline/search";
import { Stage, type Span } from "../timeline/stage";
import { useDark } from "../widgets";
import { Details } from "./timeline_details";
import { foldedRanks, useAddressOf, usePick, useRanks, type Scene } from "./timeline_hooks";
import { Labels } from "./timeline_labels";
import { Sight } from "./timeline_sight";
import { Tip } from "./timeline_tip";
import { Tools, useHits } from "./timeline_tools";

export function Board({ scene }: { scene: Scene }) {
  const { params } = useParams();
  const canvas = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const details = useRef<HTMLElement>(null);
  const bells = useMemo<Bells>(
    () => ({ moves: new Bell(), sight: new Bell(), settled: new Bell(), chosen: new Bell(), hover: new Bell() }),
    [],
  );
  const [stage, setStage] = useState<Stage>();
  const [height, setHeight] = useState(0); // of all tracks
  const [say, setSay] = useState(""); // for screen readers, and below the tools
  const dark = useDark(params.theme);

  useEffect(() => {
    const { timeline } = scene.main;
    const made = new Stage(canvas.current!, axis.current!, scroller.current!, whole(timeline), scene.zero, {
      moves: bells.moves.ring,
      sight: bells.sight.ring,
      settled: bells.settled.ring,
      chosen: bells.chosen.ring,
      hover: bells.hover.ring,
    });
    made.onLaid = (layout) => setHeight(layout.height);
    made.lay([...scene.groups, ...foldedRanks(scene.worker)], keysFrom(params.turned));
    // What is seen of the tracks is as high as the scroller, in which there is room for all of them.
    const resized = new ResizeObserver(() => {
      const now = canvas.current; // null while another view is shown in its place
      if (!now) return;
      const seen = scroller.current!.clientHeight;
      now.parentElement!.style.height = `${seen}px`;
      made.resize(now.clientWidth, seen);
    });
    resized.observe(scroller.current!);
    setStage(made);
    return () => {
      resized.disconnect();
      made.dispose();
    };
  }, [scene]);
  useEffect(() => stage?.show(colorsNow(dark)), [stage, dark]);

  const busy = useAddressOf(stage, bells);
  const { hits, searching, search, setSearch } = useHits(stage, say, setSay);
  usePick(stage, hits, searching);
  useRanks(stage, scene, bells);

  useEffect(() => {
    if (!stage) return;
    const hit = (way: 1 | -1) => {
      const found = hitFrom(stage, hits, way);
      if (!found) return setSay(hits.length > 0 ? "nothing was found" : "nothing is searched for");
      stage.choose(found);
    };
    const off = listen(
      {
        stage,
        hit,
        go: (ref, why) => (ref ? stage.choose(ref) : setSay(why)),
        toDetails: () => details.current?.focus(),
        fold: () => {
          const track = stage.chosen && stage.trackOf(stage.chosen);
          if (track) stage.toggle(track.key);
        },
      },
      canvas.current!,
    );
    return off;
  }, [stage, hits]);
  useEffect(() => {
    if (!stage) return;
    return listenToPointer(stage, {
      choose: (x, y, again) => {
        canvas.current!.focus({ preventScroll: true });
        const spot = stage.spot(x, y);
        stage.choose(spot.ref, false);
        if (again && spot.ref) stage.fit();
      },
    });
  }, [stage]);

  return (
    <section class="panel timeline" aria-label="Timeline">
      <Tools
        stage={stage}
        bells={bells}
        hits={hits}
        searching={searching}
        search={search}
        setSearch={setSearch}
        say={say}
        onHit={(way) => {
          const found = stage && hitFrom(stage, hits, way);
          if (found) stage.choose(found);
        }}
      />
      <div class="tl-board" aria-busy={!stage || busy || searching}>
        <div class="tl-corner">{stage && <Sight stage={stage} bell={bells.sight} />}</div>
        <canvas
          class="tl-axis"
          ref={axis}
          role="img"
          aria-label="Axis of time, below the whole trace"
          height={kOverview + kAxis}
        />
        <div class="tl-scroller" ref={scroller} onScroll={(e) => stage?.scrolled(e.currentTarget.scrollTop)}>
          <div
            class="tl-space"
            ref={(space) => {
              if (space) space.style.height = `${height}px`;
            }}>
            <div class="tl-stuck">
              {stage && <Labels stage={stage} bells={bells} />}
              <canvas
                class="tl-canvas"
                ref={canvas}
                tabIndex={0}
                role="application"
                aria-roledescription="timeline"
                aria-label={kHowTo}
              />
              {stage && <Tip stage={stage} bell={bells.hover} />}
            </div>
          </div>
        </div>
      </div>
      {stage && <Details scene={scene} stage={stage} bells={bells} hits={hits} focus={details} />}
    </section>
  );
}

const kHowTo =
  "Timeline. Enter chooses a slice, the arrow keys go from slice to slice, " +
  kTimelineKeys
    .filter(({ shown }) => ["w, s", "a, d", "[ ]", "n, p"].includes(shown))
    .map(({ shown, what }) => `${shown}: ${what}`)
    .join("; ") +
  ". The help has all keys.";

// A span without length has a microsecond.
function whole({ from, to }: Span): Span {
  return to > from ? { from, to } : { from: from - 500, to: from + 500 };
}

function hitFrom(stage: Stage, hits: Hits[], way: 1 | -1) {
  const { from, to } = stage.motion.view;
  return nextHit(hits, stage.chosen ?? (way > 0 ? from : to), way);
}
