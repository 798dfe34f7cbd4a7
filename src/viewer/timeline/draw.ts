// One frame: rows of slices as strips of pixels (strip.ts), which one image holds and which are stretched to their
// heights; then texts, curves, and what is chosen, above them.
import { drawArrows } from "./arrows";
import { AxisFrame, ticksOf } from "./axis";
import { drawCounter } from "./curve";
import { kGroup, kRow, type Placed, type Track } from "./layout";
import { Names } from "./names";
import { inkOn, NameColors, packed, rgbOf, type Rgb } from "./paint";
import type { Lane } from "./lanes";
import { paintLane, paintMarks, type Window } from "./strip";
import type { Ref, Source } from "./source";
import type { Area, Span, Stage } from "./stage";

const kText = 26; // CSS pixels: bars of this width or more have their name
const kHitHeight = 3;
const kManySteps = 60;

export class Frame {
  readonly rowHeight = kRow;
  private readonly strips = document.createElement("canvas");
  private image?: ImageData;
  private pixels = new Uint32Array(0);
  private readonly colors = new Map<Source, NameColors>();
  private readonly axis: AxisFrame;
  private readonly names = new Names();
  private scale = 1;

  constructor(private readonly stage: Stage) {
    this.axis = new AxisFrame(stage);
  }

  resize() {
    const { canvas, width, height } = this.stage;
    this.scale = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * this.scale));
    canvas.height = Math.max(1, Math.round(height * this.scale));
    this.image = undefined;
    this.axis.resize();
    this.names.forget();
  }

  // Colours, tracks or hits are others.
  forget() {
    this.colors.clear();
    this.names.forget();
    this.axis.forget();
  }

  draw() {
    const { stage } = this;
    if (!stage.colors || stage.width === 0) return;
    const context = stage.canvas.getContext("2d", { alpha: false })!;
    const window = this.window();
    const items = stage.inSight();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = stage.colors.panel;
    context.fillRect(0, 0, stage.canvas.width, stage.canvas.height);
    this.drawGround(context, items);
    this.drawSlices(context, items, window);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    for (const item of items)
      if (item.track?.counter)
        drawCounter(context, stage, item.track, item.top - stage.scrollTop, item.height - 6, item.open);
    if (stage.area) this.drawArea(context, stage.area);
    if (stage.mark) this.drawMark(context, stage.mark);
    if (stage.hover) this.outline(context, stage.hover, stage.colors.muted, 1);
    if (stage.chosen) {
      this.outline(context, stage.chosen, stage.colors.text, 2);
      drawArrows(context, stage, this.rowHeight);
    }
    if (stage.pointer) {
      context.fillStyle = stage.colors.muted;
      context.globalAlpha = 0.5;
      context.fillRect(Math.round(stage.pointer.x), 0, 1, stage.height);
      context.globalAlpha = 1;
    }
    this.axis.draw(ticksOf(stage));
  }

  // Times at the edges of whole device pixels, so that a pan of the same scale shows the same pixels elsewhere.
  private window(): Window {
    const { view } = this.stage.motion;
    const width = this.stage.canvas.width;
    const perPixel = (view.to - view.from) / width;
    return { from: Math.round(view.from / perPixel) * perPixel, perPixel, width };
  }

  private drawGround(context: CanvasRenderingContext2D, items: Placed[]) {
    const { stage, scale } = this;
    const y = (item: Placed) => Math.round((item.top - stage.scrollTop) * scale);
    context.fillStyle = stage.colors.line;
    for (const { x } of ticksOf(stage).ticks) context.fillRect(Math.round(x * scale), 0, 1, stage.canvas.height);
    context.fillStyle = stage.colors.back;
    for (const item of items)
      if (item.kind === "group") context.fillRect(0, y(item), stage.canvas.width, Math.round(kGroup * scale));
    context.fillStyle = stage.colors.line;
    for (const item of items) {
      context.globalAlpha = item.kind === "group" ? 1 : 0.6;
      context.fillRect(0, y(item) + Math.round(item.height * scale) - 1, stage.canvas.width, 1);
    }
    context.globalAlpha = 1;
    this.drawSteps(context);
  }

  // Where each step begins, while they are few.
  private drawSteps(context: CanvasRenderingContext2D) {
    const { stage, scale } = this;
    const steps = stage.groups[0]?.tracks.find(({ key }) => key === "step")?.lanes[0];
    if (!steps) return;
    const { from, to } = stage.motion.view;
    const [first, last] = [steps.firstFrom(from), steps.firstFrom(to)];
    if (last - first > kManySteps) return;
    context.fillStyle = stage.colors.muted;
    context.globalAlpha = 0.22;
    for (let i = first; i < last; i++)
      context.fillRect(Math.round(stage.x(steps.begin[i]) * scale), 0, 1, stage.canvas.height);
    context.globalAlpha = 1;
  }

  private drawSlices(context: CanvasRenderingContext2D, items: Placed[], window: Window) {
    const { stage, scale } = this;
    const rows: { track: Track; lane: Lane; y: number; hits?: Uint32Array }[] = [];
    for (const item of items) {
      for (let row = 0; row < item.rows; row++) {
        const y = item.top - stage.scrollTop + row * kRow;
        if (y + kRow < 0 || y > stage.height) continue;
        const lane = item.track!.lanes[row];
        rows.push({ track: item.track!, lane, y, hits: stage.hitsOf(lane, item.track!.source) });
      }
    }
    if (rows.length === 0) return;
    const searched = stage.hits.length > 0;
    const { width } = window;
    const marked = searched ? rows.length : 0;
    const pixels = this.pixelsFor(width, rows.length + marked);
    const mark = packed(rgbOf(stage.colors.hit));
    const texts: { slice: number; source: Source; x0: number; x1: number; y: number; ink: string }[] = [];
    rows.forEach(({ track, lane, y, hits }, k) => {
      const color = this.colorOf(track, lane, searched);
      const out = pixels.subarray(k * width, (k + 1) * width);
      paintLane(lane, window, color, out, kText * scale, (i, x0, x1) =>
        texts.push({ slice: lane.slice(i), source: track.source, x0, x1, y, ink: inkOn(color(i)) }),
      );
      if (!searched) return;
      const marks = pixels.subarray((rows.length + k) * width, (rows.length + k + 1) * width);
      if (hits) paintMarks(lane, window, hits, mark, marks, Math.ceil(scale));
      else marks.fill(0);
    });
    this.strips.getContext("2d")!.putImageData(this.image!, 0, 0, 0, 0, width, rows.length + marked);
    context.imageSmoothingEnabled = false;
    rows.forEach(({ y, hits }, k) => {
      const top = Math.round(y * scale) + 1;
      const height = Math.round((kRow - 1) * scale);
      context.drawImage(this.strips, 0, k, width, 1, 0, top, width, height);
      if (!hits || hits.length === 0) return;
      const of = Math.round(kHitHeight * scale);
      context.drawImage(this.strips, 0, rows.length + k, width, 1, 0, top + height - of, width, of);
    });
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = this.names.font(stage.colors.font);
    context.textBaseline = "middle";
    for (const { slice, source, x0, x1, y, ink } of texts) {
      const text = this.names.fitted(context, source.name(slice), (x1 - x0) / scale - 8);
      if (!text) continue;
      context.fillStyle = ink;
      context.fillText(text, x0 / scale + 4, y + kRow / 2 + 1);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  private pixelsFor(width: number, rows: number): Uint32Array {
    if (!this.image || this.image.width !== width || this.image.height < rows) {
      this.image = new ImageData(width, Math.max(rows, 64));
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.strips.width = width;
      this.strips.height = this.image.height;
    }
    return this.pixels;
  }

  // Of the slices of a lane, as its index tells them. While one searches, what is not found is pale.
  private colorOf(track: Track, lane: Lane, searched: boolean): (i: number) => number {
    const { stage } = this;
    const { source } = track;
    const { name, category, names, categories } = source.timeline;
    let colors = this.colors.get(source);
    if (!colors) this.colors.set(source, (colors = new NameColors(names, categories, stage.colors.dark)));
    const plain = (slice: number) => colors.of(name[slice], category[slice]);
    if (!searched) return (i) => plain(lane.slice(i));
    const found = stage.hits.find((one) => one.source === source)?.found;
    const paper: Rgb = rgbOf(stage.colors.line);
    const pale = packed(paper);
    return (i) => {
      const slice = lane.slice(i);
      return found && found[slice] ? plain(slice) : pale;
    };
  }

  private drawArea(context: CanvasRenderingContext2D, { from, to, tracks }: Area) {
    const { stage } = this;
    const [x0, x1] = [stage.x(from), stage.x(to)];
    context.fillStyle = stage.colors.accent;
    const band = (y: number, height: number) => {
      context.globalAlpha = 0.14;
      context.fillRect(x0, y, x1 - x0, height);
      context.globalAlpha = 1;
    };
    if (!tracks) band(0, stage.height);
    else
      for (const item of stage.inSight())
        if (item.track && tracks.has(item.track)) band(item.top - stage.scrollTop, item.height);
    for (const x of [x0, x1]) context.fillRect(Math.round(x) - 0.5, 0, 1, stage.height);
  }

  private drawMark(context: CanvasRenderingContext2D, { from, to }: Span) {
    const { stage } = this;
    context.strokeStyle = stage.colors.text;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    for (const time of to > from ? [from, to] : [from]) {
      const x = Math.round(stage.x(time)) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, stage.height);
    }
    context.stroke();
    context.setLineDash([]);
  }

  private outline(context: CanvasRenderingContext2D, ref: Ref, color: string, wide: number) {
    const { stage } = this;
    const y = topOf(stage, ref, kRow);
    if (y === undefined || y + kRow < 0 || y > stage.height) return;
    const x0 = Math.max(-4, stage.x(ref.source.begin(ref.slice)));
    const x1 = Math.min(stage.width + 4, stage.x(ref.source.end(ref.slice)));
    if (x1 < 0 || x0 > stage.width) return;
    context.strokeStyle = color;
    context.lineWidth = wide;
    context.strokeRect(x0, y + 1, Math.max(2, x1 - x0), kRow - 1);
  }
}

// Where a slice is drawn, from the top of the canvas; undefined while its track or group is folded.
export function topOf(stage: Stage, ref: Ref, rowHeight: number): number | undefined {
  const track = stage.trackOf(ref);
  const item = track && stage.layout.byTrack.get(track);
  if (!item) return undefined;
  const row = Math.min(ref.source.place(ref.slice).row, item.rows - 1);
  return item.top - stage.scrollTop + row * rowHeight;
}
