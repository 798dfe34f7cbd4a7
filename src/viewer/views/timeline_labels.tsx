// The names of groups and tracks at the left of the canvas: folded and unfolded here, with the share of the time in
// sight in which each is busy. Only those in sight are in the DOM; the arrow keys go on to the others.
import { useEffect, useRef } from "preact/hooks";
import { format } from "../format";
import { valueAt } from "../timeline/counter";
import { useBell, type Bells } from "../timeline/bell";
import type { Placed, Track } from "../timeline/layout";
import type { Stage } from "../timeline/stage";
import { Derived } from "../figure";

const kPause = 80; // ms between two renderings while things move

export function Labels({ stage, bells }: { stage: Stage; bells: Bells }) {
  useBell(bells.sight, kPause);
  const list = useRef<HTMLDivElement>(null);
  // The names move with the canvas, frame by frame.
  useEffect(() => {
    const move = () => {
      if (list.current) list.current.style.transform = `translateY(${-stage.scrollTop}px)`;
    };
    move();
    return bells.sight.on(move);
  }, [stage]);
  const chosen = stage.chosen && stage.trackOf(stage.chosen);
  return (
    <div class="tl-labels">
      <div ref={list}>
        {stage.inSight().map((item) => (
          <Label
            key={item.track?.key ?? `group ${item.group.key}`}
            stage={stage}
            item={item}
            chosen={chosen !== undefined && item.track === chosen}
          />
        ))}
      </div>
    </div>
  );
}

function Label({ stage, item, chosen }: { stage: Stage; item: Placed; chosen: boolean }) {
  const { group, track, open } = item;
  const { key, title } = track ?? group;
  const folds = track ? track.counter !== undefined || track.lanes.length > 1 : true;
  const place = (element: HTMLElement | null) => {
    if (!element) return;
    element.style.top = `${item.top}px`;
    element.style.height = `${item.height - 1}px`;
  };
  const keys = (e: KeyboardEvent) => {
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
      if (folds && open !== (e.key === "ArrowRight")) stage.toggle(key);
    } else if (e.key === "ArrowUp" || e.key === "ArrowDown") goTo(stage, item, e.key === "ArrowUp" ? -1 : 1, e);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class={`tl-label ${item.kind}${chosen ? " chosen" : ""}`} ref={place} onKeyDown={keys} data-key={key}>
      {folds ? (
        <button
          type="button"
          class="twig"
          aria-expanded={open}
          aria-label={title}
          title={open ? "Fold" : "Unfold"}
          onClick={() => stage.toggle(key)}>
          {open ? "▾" : "▸"}
        </button>
      ) : (
        <span class="twig" />
      )}
      <bdi class="name" title={title.slice(0, 2000)}>
        {title}
      </bdi>
      {track ? <Share stage={stage} track={track} /> : <Hint item={item} />}
    </div>
  );
}

function Hint({ item: { group, open } }: { item: Placed }) {
  if (open && group.tracks.length === 0)
    return (
      <span class="value" aria-busy="true">
        opening
      </span>
    );
  if (group.hint && open)
    return (
      <span class="value" title={group.hint}>
        clock not known
      </span>
    );
  return null;
}

// How busy it is in sight; of a counter, its value at the pointer or at the end of what is in sight.
function Share({ stage, track }: { stage: Stage; track: Track }) {
  const [from, to] = [stage.motion.view.from, stage.motion.view.to].map(Math.round); // as the address has them
  if (track.counter) {
    const value = valueAt(track.counter, stage.pointer ? stage.time(stage.pointer.x) : to);
    return <span class="value tick">{format(value, track.counter.unit)}</span>;
  }
  if (track.number < 0 || track.source.id !== "") return null;
  const busy = track.source.cover(track.number, 0)?.busy(from, to) ?? 0;
  return (
    <span class="value" title="Share of the time in sight in which a slice is open">
      <Derived
        rule={`share of the time in sight in which ${track.key} is busy`}
        value={(100 * busy) / (to - from)}
        unit="percent"
      />
    </span>
  );
}

// The fold button of the label before or after this one, which may be out of sight.
function goTo(stage: Stage, item: Placed, way: 1 | -1, e: KeyboardEvent) {
  const { items } = stage.layout;
  const next = items[items.indexOf(item) + way];
  if (!next) return;
  const list = (e.currentTarget as HTMLElement).parentElement!;
  if (next.top < stage.scrollTop) stage.scrollTo(next.top);
  else if (next.top + next.height > stage.scrollTop + stage.height)
    stage.scrollTo(next.top + next.height - stage.height);
  const { key } = next.track ?? next.group;
  const focus = (tries: number) => {
    const found = [...list.children].find((one) => (one as HTMLElement).dataset.key === key);
    const button = found?.querySelector("button");
    if (button) button.focus({ preventScroll: true });
    else if (found) goTo(stage, next, way, { currentTarget: found } as unknown as KeyboardEvent);
    else if (tries > 0) setTimeout(() => focus(tries - 1), 20);
  };
  focus(20);
}
