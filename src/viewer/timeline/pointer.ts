// The mouse, a trackpad, and fingers: over the tracks, and over the axis above them.
import type { Area, Stage } from "./stage";
import { kOverview } from "./axis";

const kStill = 4; // pixels: less is a click
const kWheelZoom = 0.0035; // by pixel of the wheel
const kLine = 16; // pixels of a line, where a wheel counts lines

interface Acts {
  choose(x: number, y: number, again: boolean): void;
}

export function listenToPointer(stage: Stage, acts: Acts): () => void {
  const { canvas, axis, scroller } = stage;
  const place = (e: MouseEvent, element: HTMLElement) => {
    const box = element.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };

  const wheel = (e: WheelEvent) => {
    const unit = e.deltaMode === 1 ? kLine : e.deltaMode === 2 ? stage.height : 1;
    const [dx, dy] = [e.deltaX * unit, e.deltaY * unit];
    const { x } = place(e, canvas);
    if (e.ctrlKey || e.metaKey) stage.motion.zoom(Math.exp(limited(dy) * kWheelZoom), stage.time(x));
    else if (e.shiftKey) stage.motion.panBy(dx || dy);
    else if (Math.abs(dx) > Math.abs(dy)) stage.motion.panBy(dx);
    else return;
    e.preventDefault();
  };

  const fingers = new Map<number, { x: number; y: number }>();
  let begin: { x: number; y: number; top: number; area: boolean; moved: boolean } | undefined;
  const down = (e: PointerEvent) => {
    if (e.button !== 0) return;
    const at = place(e, canvas);
    fingers.set(e.pointerId, at);
    canvas.setPointerCapture(e.pointerId);
    begin = { ...at, top: stage.scrollTop, area: e.shiftKey, moved: false };
  };
  const move = (e: PointerEvent) => {
    const at = place(e, canvas);
    const before = fingers.get(e.pointerId);
    if (!before || !begin) {
      stage.point(at);
      return;
    }
    if (fingers.size === 2) {
      pinch(e.pointerId, before, at);
      return;
    }
    if (!begin.moved && Math.hypot(at.x - begin.x, at.y - begin.y) < kStill) return;
    begin.moved = true;
    if (begin.area) stage.chooseArea(areaOf(begin, at));
    else {
      canvas.classList.add("panning");
      stage.motion.panBy(before.x - at.x);
      scroller.scrollTop += before.y - at.y;
    }
    fingers.set(e.pointerId, at);
    stage.point(at);
  };
  const pinch = (id: number, before: { x: number; y: number }, at: { x: number; y: number }) => {
    const other = [...fingers].find(([one]) => one !== id)![1];
    const [far, now] = [Math.abs(before.x - other.x), Math.abs(at.x - other.x)];
    if (far > 8 && now > 8) stage.motion.zoom(far / now, stage.time((at.x + other.x) / 2));
    begin!.moved = true;
    fingers.set(id, at);
  };
  const up = (e: PointerEvent) => {
    fingers.delete(e.pointerId);
    canvas.classList.remove("panning");
    if (begin && !begin.moved && e.type === "pointerup") acts.choose(begin.x, begin.y, false);
    if (fingers.size === 0) begin = undefined;
  };
  const twice = (e: MouseEvent) => {
    const { x, y } = place(e, canvas);
    acts.choose(x, y, true);
  };
  const leave = () => stage.point(undefined);

  // Of the time that was dragged over, on the tracks between. Those of other workers do not count: the table is of
  // this one.
  const areaOf = (a: { x: number; y: number; top: number }, b: { x: number; y: number }): Area => {
    const times = [stage.time(a.x), stage.time(b.x)].map(Math.round);
    const heights = [a.y + a.top, b.y + stage.scrollTop];
    const [top, bottom] = [Math.min(...heights), Math.max(...heights)];
    const tracks = new Set(
      stage.layout.items.flatMap((item) =>
        item.track &&
        item.track.number >= 0 &&
        item.track.source.id === "" &&
        item.top < bottom &&
        item.top + item.height > top
          ? [item.track]
          : [],
      ),
    );
    return { from: Math.min(...times), to: Math.max(...times), tracks };
  };

  // On the axis a drag chooses a time; on the whole above it, it moves what is in sight.
  let from: { x: number; whole: boolean } | undefined;
  const axisDown = (e: PointerEvent) => {
    if (e.button !== 0) return;
    const { x, y } = place(e, axis);
    from = { x, whole: y < kOverview };
    axis.setPointerCapture(e.pointerId);
    if (from.whole) centre(x);
  };
  const axisMove = (e: PointerEvent) => {
    if (!from) return;
    const { x } = place(e, axis);
    if (from.whole) return centre(x);
    if (Math.abs(x - from.x) < kStill) return;
    const times = [stage.time(from.x), stage.time(x)].map(Math.round);
    stage.chooseArea({ from: Math.min(...times), to: Math.max(...times) });
  };
  const axisUp = () => (from = undefined);
  const centre = (x: number) => {
    const { view } = stage.motion;
    const { all } = stage;
    const middle = all.from + (x / stage.width) * (all.to - all.from);
    const half = (view.to - view.from) / 2;
    stage.motion.set({ from: middle - half, to: middle + half });
  };

  const listeners: [HTMLElement, string, (e: never) => void][] = [
    [canvas, "wheel", wheel],
    [axis, "wheel", wheel],
    [canvas, "pointerdown", down],
    [canvas, "pointermove", move],
    [canvas, "pointerup", up],
    [canvas, "pointercancel", up],
    [canvas, "pointerleave", leave],
    [canvas, "dblclick", twice],
    [axis, "pointerdown", axisDown],
    [axis, "pointermove", axisMove],
    [axis, "pointerup", axisUp],
    [axis, "pointercancel", axisUp],
  ];
  for (const [element, kind, act] of listeners)
    element.addEventListener(kind, act as EventListener, { passive: kind !== "wheel" });
  return () => {
    for (const [element, kind, act] of listeners) element.removeEventListener(kind, act as EventListener);
  };
}

const limited = (pixels: number) => Math.max(-300, Math.min(300, pixels));
