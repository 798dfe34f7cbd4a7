// A counter: an area below its curve, from pixel to pixel between its least and its largest value there.
import { counterColor } from "../charts/colors";
import { extremesOf, pointAt } from "./counter";
import type { Track } from "./layout";
import type { Stage } from "./stage";

export function drawCounter(
  context: CanvasRenderingContext2D,
  stage: Stage,
  { counter }: Track,
  top: number,
  height: number,
  open: boolean,
) {
  const { times, values, unit } = counter!;
  const extremes = extremesOf(counter!);
  const [least, most] = extremes.of(0, values.length);
  if (Number.isNaN(most)) return;
  const low = Math.min(0, least);
  const high = unit === "percent" ? Math.max(100, most) : most > low ? most : low + 1;
  const y = (value: number) => top + height - 1 - ((height - 3) * (value - low)) / (high - low);
  const color = counterColor(unit);
  const line: [number, number, number][] = []; // x, y of the least and of the largest
  const drawn = () => {
    if (line.length === 0) return;
    context.beginPath();
    context.moveTo(line[0][0], y(low));
    for (const [x, , upper] of line) context.lineTo(x, upper);
    context.lineTo(line[line.length - 1][0], y(low));
    context.globalAlpha = open ? 0.25 : 0.6;
    context.fill();
    context.globalAlpha = 1;
    if (open) {
      context.beginPath();
      context.moveTo(line[0][0], line[0][2]);
      for (const [x, lower, upper] of line) {
        context.lineTo(x, upper);
        if (lower !== upper) context.lineTo(x, lower);
      }
      context.stroke();
    }
    line.length = 0;
  };
  context.fillStyle = context.strokeStyle = color;
  context.lineWidth = 1;
  const { from, to } = stage.motion.view;
  const inSight = [Math.max(0, pointAt(times, from)), Math.min(times.length, pointAt(times, to) + 1)];
  if (inSight[1] - inSight[0] <= stage.width) {
    for (let i = inSight[0]; i < inSight[1]; i++) {
      if (Number.isNaN(values[i])) {
        drawn();
        continue;
      }
      const end = i + 1 < times.length ? times[i + 1] : Math.max(to, times[i]);
      const [x0, x1] = [stage.x(Math.max(from, times[i])), stage.x(Math.min(to, end))];
      const at = y(values[i]);
      line.push([x0, at, at], [x1, at, at]);
    }
    drawn();
    return;
  }
  let i = inSight[0];
  for (let x = 0; x < stage.width && i < times.length; x++) {
    const next = pointAt(times, stage.time(x + 1)) + 1;
    const [lower, upper] = extremes.of(Math.min(i, Math.max(0, next - 1)), next);
    i = Math.max(i, next);
    if (Number.isNaN(upper)) drawn();
    else line.push([x, y(lower), y(upper)]);
  }
  drawn();
}
