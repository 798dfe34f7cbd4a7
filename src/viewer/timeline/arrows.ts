// Arrows of the slice that is chosen: from what launched it, to what it launched; likewise forward and backward.
import { topOf } from "./draw";
import { arrowsFrom, arrowsTo } from "./flows";
import type { Ref } from "./source";
import type { Stage } from "./stage";

const kMax = 200;

export function drawArrows(context: CanvasRenderingContext2D, stage: Stage, rowHeight: number) {
  const { source, slice } = stage.chosen!;
  const { timeline } = source;
  const all = [...arrowsTo(timeline, slice), ...arrowsFrom(timeline, slice)].slice(0, kMax);
  context.strokeStyle = context.fillStyle = stage.colors.accent;
  context.lineWidth = 1.5;
  for (const { from, to } of all) {
    const [begin, end]: Ref[] = [
      { source, slice: from },
      { source, slice: to },
    ];
    const [y0, y1] = [topOf(stage, begin, rowHeight), topOf(stage, end, rowHeight)];
    if (y0 === undefined || y1 === undefined) continue;
    // From the end of one that is over when the other begins, else from its begin.
    const over = source.end(from) <= source.begin(to);
    const x0 = clamped(stage.x(over ? source.end(from) : source.begin(from)), stage.width);
    const x1 = clamped(stage.x(source.begin(to)), stage.width);
    const [a, b] = [y0 + rowHeight / 2 + 1, y1 + rowHeight / 2 + 1];
    const bend = Math.min(80, Math.max(16, Math.abs(x1 - x0) / 2));
    context.beginPath();
    context.moveTo(x0, a);
    context.bezierCurveTo(x0 + bend, a, x1 - bend, b, x1, b);
    context.stroke();
    context.beginPath();
    context.moveTo(x1 + 1, b);
    context.lineTo(x1 - 6, b - 4);
    context.lineTo(x1 - 6, b + 4);
    context.fill();
  }
}

// Far outside of the canvas a curve would be a straight line anyway.
const clamped = (x: number, width: number) => Math.max(-200, Math.min(width + 200, x));
