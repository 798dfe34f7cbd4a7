// The keys of the timeline. Each is a row here, from which the help lists them; one with another key has no text of its
// own.
import { first, followed, walked, type Way } from "./walk";
import type { Ref } from "./source";
import type { Stage } from "./stage";

export interface Actions {
  stage: Stage;
  go(ref: Ref | undefined, why: string): void; // chooses it; says why where there is none
  hit(way: 1 | -1): void;
  toDetails(): void;
  fold(): void;
}

interface Key {
  keys: string[]; // KeyboardEvent.key, lower case
  shown: string;
  what: string;
  onCanvas?: boolean; // only where the timeline itself has the focus: elsewhere the key scrolls, or presses a button
  run(actions: Actions, key: string): void;
}

const whole = ({ stage }: Actions) => stage.motion.fit(stage.all, 0);
const arrow =
  (way: Way) =>
  ({ stage, go }: Actions) => {
    if (stage.chosen || way === "left" || way === "right") return go(walked(stage, way), "no slice there");
    return stage.scrollAndTell(way === "up" ? -60 : 60);
  };

export const kTimelineKeys: Key[] = [
  { keys: ["w", "s"], shown: "w, s", what: "zoom in and out, at the pointer; hold to go on", run: () => {} },
  { keys: ["a", "d"], shown: "a, d", what: "go to the left and to the right; hold to go on", run: () => {} },
  {
    keys: ["f"],
    shown: "f",
    what: "fit what is chosen into the width",
    run: ({ stage }) => stage.fit(),
  },
  {
    keys: ["0"],
    shown: "0, Home",
    what: "show all of the time",
    run: whole,
  },
  { keys: ["home"], shown: "", what: "", onCanvas: true, run: whole },
  {
    keys: ["arrowleft"],
    shown: "← →",
    what: "the slice before or after in the same row",
    onCanvas: true,
    run: arrow("left"),
  },
  { keys: ["arrowright"], shown: "", what: "", onCanvas: true, run: arrow("right") },
  {
    keys: ["arrowup"],
    shown: "↑ ↓",
    what: "the slice around this one or inside of it; from track to track",
    onCanvas: true,
    run: arrow("up"),
  },
  { keys: ["arrowdown"], shown: "", what: "", onCanvas: true, run: arrow("down") },
  {
    keys: ["enter"],
    shown: "Enter",
    what: "choose the first slice in sight; of a chosen one, go to its details",
    onCanvas: true,
    run: ({ stage, go, toDetails }) =>
      stage.chosen || stage.area ? toDetails() : go(first(stage), "no slice in sight"),
  },
  {
    keys: ["]"],
    shown: "[ ]",
    what: "follow an arrow: launch to kernel, forward to backward, and back",
    run: ({ stage, go }) => go(followed(stage, 1), stage.chosen ? "no arrow leads on from here" : "no slice is chosen"),
  },
  {
    keys: ["["],
    shown: "",
    what: "",
    run: ({ stage, go }) => go(followed(stage, -1), stage.chosen ? "no arrow leads here" : "no slice is chosen"),
  },
  {
    keys: ["m"],
    shown: "m",
    what: "measure: mark what is chosen, or the pointer's place; what is chosen next says how far it is; again: unmark",
    run: ({ stage }) => measure(stage),
  },
  {
    keys: ["r"],
    shown: "r",
    what: "table of the time that is chosen, from the mark to what is chosen, or in sight",
    run: ({ stage }) => chooseRange(stage),
  },
  { keys: ["n"], shown: "n, p", what: "the next and the previous hit of the search", run: ({ hit }) => hit(1) },
  { keys: ["p"], shown: "", what: "", run: ({ hit }) => hit(-1) },
  { keys: ["x"], shown: "x", what: "fold or unfold the track of the chosen slice", run: ({ fold }) => fold() },
  {
    keys: ["escape"],
    shown: "Escape",
    what: "choose nothing; from a field or the details, back to the timeline",
    onCanvas: true,
    run: ({ stage }) => {
      if (stage.area) stage.chooseArea(undefined);
      else if (stage.chosen) stage.choose(undefined);
      else stage.setMark(undefined);
    },
  },
];

// What the pointer does, for the help.
export const kTimelinePointer: [string, string][] = [
  ["wheel", "scroll the tracks; with Ctrl, or pinching: zoom at the pointer; with Shift, or sideways: pan"],
  ["drag", "pan; with Shift, or on the axis of time: choose an area, whose slices are then summed in a table"],
  ["click", "choose a slice; a second one shows it in the whole width"],
];

function measure(stage: Stage) {
  const span = stage.span() ?? (stage.pointer && at(stage.time(stage.pointer.x)));
  if (!span) return;
  const { mark } = stage;
  stage.setMark(mark && mark.from === span.from && mark.to === span.to ? undefined : { from: span.from, to: span.to });
}

const at = (time: number) => ({ from: Math.round(time), to: Math.round(time) });

function chooseRange(stage: Stage) {
  const chosen = stage.chosen && stage.span();
  const { mark } = stage;
  const spans = [chosen, mark].filter((one) => one !== undefined);
  if (spans.length === 0) spans.push(stage.motion.view);
  stage.chooseArea({
    from: Math.round(Math.min(...spans.map(({ from }) => from))),
    to: Math.round(Math.max(...spans.map(({ to }) => to))),
  });
}

const kHeld: Record<string, [number, number]> = { a: [-1, 0], d: [1, 0], w: [0, 1], s: [0, -1] };

// Listens to the whole page while the timeline is there. Fields, dialogs and keys of the browser are left alone.
export function listen(actions: Actions, canvas: HTMLElement): () => void {
  const held = new Set<string>();
  const { stage } = actions;
  const hold = () => {
    let [pan, zoom] = [0, 0];
    for (const key of held) [pan, zoom] = [pan + kHeld[key][0], zoom + kHeld[key][1]];
    stage.motion.hold(pan, zoom, stage.pointer && stage.time(stage.pointer.x));
  };
  const down = (e: KeyboardEvent) => {
    const target = e.target as Element;
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (target.matches("input, select, textarea") || target.closest("dialog[open]")) return;
    const key = e.key.toLowerCase();
    if (kHeld[key]) {
      if (!held.has(key)) {
        held.add(key);
        hold();
      }
      e.preventDefault();
      return;
    }
    const found = kTimelineKeys.find(({ keys }) => keys.includes(key));
    if (!found || (found.onCanvas && target !== canvas && target !== document.body)) return;
    found.run(actions, key);
    e.preventDefault();
    e.stopImmediatePropagation();
  };
  const up = (e: KeyboardEvent) => held.delete(e.key.toLowerCase()) && hold();
  const away = () => {
    if (held.size === 0) return;
    held.clear();
    hold();
  };
  addEventListener("keydown", down, true);
  addEventListener("keyup", up);
  addEventListener("blur", away);
  return () => {
    removeEventListener("keydown", down, true);
    removeEventListener("keyup", up);
    removeEventListener("blur", away);
  };
}
