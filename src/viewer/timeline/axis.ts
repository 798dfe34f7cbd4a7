// Above the tracks: the whole trace as narrow strips, with what is in sight marked, and the axis of time.
import { ticksBetween } from "../charts/scale";
import { formatTick, format } from "../format";
import { NameColors } from "./paint";
import { paintLane } from "./strip";
import type { Source } from "./source";
import type { Stage } from "./stage";

export const kOverview = 30;
export const kAxis = 22;
const kOverviewRows = 8;
const kSpacing = 110; // CSS pixels between ticks, about

export interface Ticks {
  ticks: { x: number; text: string }[];
}

// Where more digits than the span needs would be said of each tick, they are said of a tick at the left, and the others
// are distances from it.
export function ticksOf(stage: Stage): Ticks {
  const { from, to } = stage.motion.view;
  const count = Math.max(2, stage.width / kSpacing);
  const times = ticksBetween(from / 1e3, to / 1e3, count);
  const top = Math.max(Math.abs(from), Math.abs(to)) / 1e3;
  const far = top > 1000 * ((to - from) / 1e3);
  const base = far ? times[0] : 0;
  return {
    ticks: times.map((us, i) => ({
      x: stage.x(us * 1e3),
      text: !far
        ? formatTick(us, top, "us")
        : i === 0
          ? exactTime(us)
          : `+${formatTick(us - base, (to - from) / 1e3, "us")}`,
    })),
  };
}

function exactTime(us: number): string {
  const word = format(us, "us").split(" ")[1];
  const scale = { µs: 1, ms: 1e3, s: 1e6 }[word] ?? 1;
  return `${+(us / scale).toFixed(scale === 1 ? 3 : scale === 1e3 ? 6 : 9)} ${word}`;
}

export class AxisFrame {
  private readonly whole = document.createElement("canvas");
  private fresh = false;
  private scale = 1;

  constructor(private readonly stage: Stage) {}

  resize() {
    const { axis, width } = this.stage;
    this.scale = devicePixelRatio || 1;
    axis.width = Math.max(1, Math.round(width * this.scale));
    axis.height = Math.round((kOverview + kAxis) * this.scale);
    this.fresh = false;
  }

  forget() {
    this.fresh = false;
  }

  draw({ ticks }: Ticks) {
    const { stage, scale } = this;
    const { colors, axis, width } = stage;
    const context = axis.getContext("2d", { alpha: false })!;
    if (!this.fresh) this.drawWhole();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.whole, 0, 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    // What is in sight, of the whole.
    const { all } = stage;
    const at = (time: number) => ((time - all.from) / (all.to - all.from)) * width;
    const { from, to } = stage.motion.view;
    const [x0, x1] = [Math.max(0, at(from)), Math.min(width, Math.max(at(to), at(from) + 2))];
    context.globalAlpha = 0.72;
    context.fillStyle = colors.panel;
    context.fillRect(0, 0, x0, kOverview);
    context.fillRect(x1, 0, width - x1, kOverview);
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.lineWidth = 1;
    context.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(1, Math.round(x1 - x0) - 1), kOverview - 1);
    // The axis.
    context.fillStyle = colors.panel;
    context.fillRect(0, kOverview, width, kAxis);
    context.fillStyle = colors.line;
    context.fillRect(0, kOverview + kAxis - 1, width, 1);
    context.font = `11px ${colors.font}`;
    context.textBaseline = "middle";
    let free = -Infinity;
    for (const { x, text } of ticks) {
      context.fillStyle = colors.line;
      context.fillRect(Math.round(x), kOverview + 4, 1, kAxis - 4);
      const end = x + 5 + context.measureText(text).width;
      if (x < free || end > width) continue;
      context.fillStyle = colors.muted;
      context.fillText(text, x + 5, kOverview + kAxis / 2 + 1);
      free = end + 8;
    }
    this.drawSpan(context);
  }

  // The length of what is chosen or marked.
  private drawSpan(context: CanvasRenderingContext2D) {
    const { stage } = this;
    const span = stage.area ?? (stage.mark && stage.mark.to > stage.mark.from ? stage.mark : undefined);
    if (!span) return;
    const [x0, x1] = [Math.max(-1, stage.x(span.from)), Math.min(stage.width + 1, stage.x(span.to))];
    if (x1 < 0 || x0 > stage.width) return;
    const text = format((span.to - span.from) / 1e3, "us");
    const wide = context.measureText(text).width + 10;
    const middle = Math.min(stage.width - wide / 2, Math.max(wide / 2, (x0 + x1) / 2));
    context.fillStyle = stage.colors.accent;
    context.fillRect(x0, kOverview + kAxis - 3, x1 - x0, 3);
    context.fillRect(middle - wide / 2, kOverview + 2, wide, kAxis - 6);
    context.fillStyle = stage.colors.panel;
    context.fillText(text, middle - wide / 2 + 5, kOverview + kAxis / 2);
  }

  // The outermost slices of the first tracks that have any.
  private drawWhole() {
    const { stage, scale, whole } = this;
    this.fresh = true;
    whole.width = stage.axis.width;
    whole.height = stage.axis.height;
    const context = whole.getContext("2d")!;
    context.fillStyle = stage.colors.panel;
    context.fillRect(0, 0, whole.width, whole.height);
    const tracks = stage.groups
      .flatMap((group) => group.tracks)
      .filter(({ lanes, source }) => source.id === "" && lanes.length > 0)
      .slice(0, kOverviewRows);
    if (tracks.length === 0) return;
    const { from, to } = stage.all;
    const window = { from, perPixel: Math.max(to - from, 1) / whole.width, width: whole.width };
    const height = Math.max(1, Math.floor(((kOverview - 4) * scale) / tracks.length));
    const image = new ImageData(whole.width, 1);
    const pixels = new Uint32Array(image.data.buffer);
    const strip = document.createElement("canvas");
    strip.width = whole.width;
    strip.height = 1;
    const colors = new Map<Source, NameColors>();
    tracks.forEach(({ source, lanes }, k) => {
      const { name, category, names, categories } = source.timeline;
      let own = colors.get(source);
      if (!own) colors.set(source, (own = new NameColors(names, categories, stage.colors.dark)));
      const color = (i: number) => own.of(name[lanes[0].slice(i)], category[lanes[0].slice(i)]);
      paintLane(lanes[0], window, color, pixels);
      strip.getContext("2d")!.putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(strip, 0, 0, whole.width, 1, 0, 2 * scale + k * height, whole.width, Math.max(1, height - 1));
    });
  }
}
