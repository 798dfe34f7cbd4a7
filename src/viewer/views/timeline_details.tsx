// Below the canvas: the slice that is chosen, or the area, or what the search has found.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Derived, Said } from "../figure";
import { documents } from "../data/documents";
import { useParams } from "../state";
import { Frames } from "../table/frames";
import { pinOf } from "../timeline/advice";
import { useBell, type Bells } from "../timeline/bell";
import { arrowsFrom, arrowsTo, type Arrow } from "../timeline/flows";
import { timelineHref } from "../timeline/href";
import type { Hits } from "../timeline/search";
import type { Ref } from "../timeline/source";
import { titleOfWorker } from "../timeline/sources";
import type { Span, Stage } from "../timeline/stage";
import { AreaTable } from "./timeline_area";
import { Found } from "./timeline_found";
import type { Scene } from "./timeline_hooks";
import { tableHref } from "./timeline_links";

const kArrows = 12; // shown at first

interface Props {
  scene: Scene;
  stage: Stage;
  bells: Bells;
  hits: Hits[];
  focus: RefObject<HTMLElement | null>;
}

export function Details({ scene, stage, bells, hits, focus }: Props) {
  useBell(bells.chosen);
  const { chosen, area } = stage;
  return (
    <section
      class="tl-details"
      ref={focus}
      tabIndex={-1}
      aria-label="Details"
      aria-live="polite"
      onKeyDown={(e) => e.key === "Escape" && stage.canvas.focus({ preventScroll: true })}>
      {chosen ? (
        chosen.source.id === "advice" ? (
          <Advice chosen={chosen} />
        ) : (
          <Slice key={`${chosen.source.id}.${chosen.slice}`} stage={stage} chosen={chosen} />
        )
      ) : area ? (
        <AreaTable scene={scene} stage={stage} area={area} />
      ) : hits.some(({ inTime }) => inTime.length > 0) ? (
        <Found stage={stage} hits={hits} />
      ) : (
        <p class="muted tl-nothing">
          Choose a slice by a click or with Enter, an area with Shift and a drag or by <kbd>r</kbd>. <kbd>?</kbd> lists
          all keys.
        </p>
      )}
    </section>
  );
}

const us = (ns: number) => Math.round(ns) / 1000;

function Slice({ stage, chosen }: { stage: Stage; chosen: Ref }) {
  const { href } = useParams();
  const { source, slice } = chosen;
  const { timeline } = source;
  const track = timeline.tracks[source.place(slice).track];
  const name = source.name(slice);
  const category = source.category(slice);
  const table = source.id === "" ? tableHref(category, name) : undefined;
  const text = useTexts(chosen);
  return (
    <>
      <header>
        <h2>
          <bdi class="name">{name}</bdi>
        </h2>
        <span class="tl-links">
          {table && <a href={href(table.params, false)}>{table.text}</a>}
          <a href={href({ ...timelineHref({ name }), pick: "" }, true)} title="Search exactly this name">
            All of this name
          </a>
        </span>
      </header>
      <div class="tl-columns">
        <dl class="tl-facts">
          <Time title="Duration" rule="duration of the slice" value={timeline.dur[slice]} />
          <Time title="Self" rule="self time of the slice" value={source.self(slice)} />
          <Time title="Start" rule="begin of the slice" value={timeline.begin[slice]} precise />
          <Time title="End" rule="end of the slice" value={source.end(slice)} precise />
          <dt>Category</dt>
          <dd>
            <bdi class="name">{category}</bdi>
          </dd>
          <dt>Track</dt>
          <dd>
            <bdi class="name">{track.title}</bdi>
          </dd>
          {source.id !== "" && (
            <>
              <dt>Worker</dt>
              <dd>
                <bdi class="name">{titleOfWorker(source.worker)}</bdi>
              </dd>
            </>
          )}
          {stage.mark && <Distance mark={stage.mark} span={{ from: timeline.begin[slice], to: source.end(slice) }} />}
        </dl>
        <div class="tl-texts">
          <Arrows stage={stage} chosen={chosen} />
          {!text ? (
            <p class="muted" aria-busy="true">
              Opening
            </p>
          ) : (
            <>
              {text.args.length > 0 && (
                <dl class="tl-args">
                  {text.args.map(([key, value]) => (
                    <>
                      <dt>
                        <bdi>{key}</bdi>
                      </dt>
                      <dd>
                        <bdi class="name">{value}</bdi>
                      </dd>
                    </>
                  ))}
                </dl>
              )}
              {text.stack.length > 0 && (
                <>
                  <h3>Call stack</h3>
                  <Frames stack={text.stack.join(";")} />
                </>
              )}
            </>
          )}
        </div>
      </div>
    </>
  );
}

function Time({ title, rule, value, precise }: { title: string; rule: string; value: number; precise?: boolean }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <Derived rule={rule} value={us(value)} unit="us" precise={precise} />
      </dd>
    </>
  );
}

// How far the chosen slice is from what was marked.
function Distance({ mark, span }: { mark: Span; span: Span }) {
  if (mark.from === span.from && mark.to === span.to) return null;
  const gap = span.from >= mark.to ? span.from - mark.to : mark.from >= span.to ? mark.from - span.to : 0;
  return (
    <>
      <Time title="From mark’s start" rule="distance to the mark" value={span.from - mark.from} />
      {mark.to > mark.from && <Time title="Gap to the mark" rule="gap to the mark" value={gap} />}
    </>
  );
}

// Arguments and stack, which are unpacked when the first slice is chosen.
function useTexts({ source, slice }: Ref) {
  const [texts, set] = useState<{ args: [string, string][]; stack: string[] }>();
  useEffect(() => {
    let wanted = true;
    void source.details().then((all) => wanted && set({ args: all.args(slice), stack: all.stack(slice) }));
    return () => {
      wanted = false;
    };
  }, [source, slice]);
  return texts;
}

const kWords: Record<Arrow["kind"], [string, string]> = {
  launch: ["launched", "launched by"],
  backward: ["its backward", "backward of"],
};

function Arrows({ stage, chosen: { source, slice } }: { stage: Stage; chosen: Ref }) {
  const [all, setAll] = useState(false);
  const ends = [
    ...arrowsTo(source.timeline, slice).map(({ kind, from }) => ({ word: kWords[kind][1], sign: "←", to: from })),
    ...arrowsFrom(source.timeline, slice).map(({ kind, to }) => ({ word: kWords[kind][0], sign: "→", to })),
  ];
  if (ends.length === 0) return null;
  return (
    <ul class="tl-arrows">
      {ends.slice(0, all ? ends.length : kArrows).map(({ word, sign, to }) => (
        <li>
          <button type="button" onClick={() => stage.choose({ source, slice: to })}>
            {sign} {word} <bdi class="name">{source.name(to).slice(0, 200)}</bdi>
          </button>
        </li>
      ))}
      {ends.length > kArrows && !all && (
        <li>
          <button type="button" onClick={() => setAll(true)}>
            <Derived rule="arrows of the slice" value={ends.length} unit="count" /> in all
          </button>
        </li>
      )}
    </ul>
  );
}

// What a pin of advice rests on.
function Advice({ chosen: { source, slice } }: { chosen: Ref }) {
  const { href } = useParams();
  const pin = pinOf(source, slice);
  if (!pin) return null;
  const at = `advise/workers/${source.worker}/recommendations/${pin.recommendation}`;
  const found = documents.advise.workers[source.worker].recommendations[pin.recommendation];
  const event = found.evidence[pin.evidence];
  return (
    <div class={`card ${found.severity}`}>
      <header>
        <span class="tag">{found.severity}</span>
        <h3>
          <Said at={`${at}/title`} text={found.title} />
        </h3>
        <a class="saving" href={href({ view: "overview" }, false)}>
          All advice
        </a>
      </header>
      <p>
        <Said at={`${at}/text`} text={found.text} />
      </p>
      <p class="fix">
        <Said at={`${at}/fix`} text={found.fix} />
      </p>
      <p>
        Seen in{" "}
        <a href={href(timelineHref({ name: event.name, at: event.at_us, thread: event.thread }), true)}>
          <Said at={`${at}/evidence/${pin.evidence}/name`} text={event.name} />
        </a>
      </p>
    </div>
  );
}
