// Paints the bars that are in sight. Bars that are narrower than a pixel share one, whose colour is then that of most.
import type { Bars } from "./flame_bars";
import { mixed } from "./colors";

export const kRow = 20; // px of a level
const kCharacter = 6.3,
  kNarrow = 0.9;

// How rows look. What it says depends on nothing but the row: a new object is painted anew.
export interface Look {
  name: (row: number) => string;
  color: (row: number) => string; // #rrggbb
  strength?: (row: number) => number; // of the colour, 0..1; else kStrength
  faint?: (row: number) => boolean; // not what is looked for
  mark?: (row: number) => "" | "more" | "less"; // besides its colour, by stripes
}
const kStrength = 0.42;

interface Scene {
  bars: Bars;
  levels: number[][];
  look: Look;
  begin: number;
  end: number;
  width: number;
  y: (level: number) => number;
  top: number; // px that are scrolled
  seen: number; // px of height
  zoomed: number;
  dark: boolean;
}

// Returns how many bars were painted.
export function paint(canvas: HTMLCanvasElement, scene: Scene): number {
  const { bars, levels, look, begin, end, width, y, top, seen, zoomed, dark } = scene;
  const context = canvas.getContext("2d")!;
  const style = getComputedStyle(document.documentElement);
  const [panel, text, muted] = ["--panel", "--text", "--muted"].map((name) => style.getPropertyValue(name).trim());
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(seen * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${seen}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
  context.clearRect(0, top, width, seen);
  context.font = `11.5px ${style.fontFamily}`;
  context.textBaseline = "middle";
  const stripes = look.mark ? stripesOf(context, text) : undefined;
  const shades = new Map<string, string>();
  const shadeOf = (color: string, strength: number) => {
    const key = `${color} ${strength}`;
    let shade = shades.get(key);
    if (!shade) shades.set(key, (shade = mixed(color, panel, strength)));
    return shade;
  };
  const around = new Set<number>();
  for (let up = zoomed >= 0 ? bars.parent[zoomed] : -1; up >= 0; up = bars.parent[up]) around.add(up);
  const scale = width / (end - begin);
  let painted = 0;
  levels.forEach((rows, level) => {
    const line = y(level);
    if (line + kRow < top || line > top + seen) return;
    let filled = 0; // px that have a bar
    for (const row of rows) {
      const left = (Math.max(begin, bars.from[row]) - begin) * scale;
      const wide = (Math.min(end, bars.to[row]) - begin) * scale - left;
      painted++;
      if (wide < kNarrow && left + wide < filled) continue;
      const faint = look.faint?.(row) || around.has(row);
      const strength = (look.strength?.(row) ?? kStrength) * (faint ? 0.3 : 1);
      context.fillStyle = shadeOf(look.color(row), Math.round(strength * 50) / 50);
      const shown = Math.max(wide > 3 ? wide - 1 : wide, kNarrow);
      context.fillRect(left, line, shown, kRow - 1);
      filled = left + shown;
      const mark = look.mark?.(row);
      if (mark && stripes && wide > 3) {
        context.globalAlpha = dark ? 0.35 : 0.25;
        context.fillStyle = stripes[mark];
        context.fillRect(left, line + kRow - 5, shown, 4);
        context.globalAlpha = 1;
      }
      if (wide < 3.2 * kCharacter) continue;
      context.fillStyle = faint && !around.has(row) ? muted : text;
      const label = cut(look.name(row), wide - 9, context);
      if (label) context.fillText(label, left + 5, line + kRow / 2);
    }
  });
  return painted;
}

// Rising lines for more, dots for less.
function stripesOf(context: CanvasRenderingContext2D, color: string): Record<"more" | "less", CanvasPattern> {
  const pattern = (draw: (tile: CanvasRenderingContext2D) => void) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const on = tile.getContext("2d")!;
    on.fillStyle = on.strokeStyle = color;
    on.lineWidth = 1.6;
    draw(on);
    return context.createPattern(tile, "repeat")!;
  };
  return {
    more: pattern((on) => {
      for (const shift of [-6, 0, 6]) {
        on.beginPath();
        on.moveTo(shift, 6);
        on.lineTo(shift + 6, 0);
        on.stroke();
      }
    }),
    less: pattern((on) => on.fillRect(1, 1, 2.4, 2.4)),
  };
}

// As much of a text as there is room for.
function cut(text: string, room: number, context: CanvasRenderingContext2D): string {
  const sure = Math.floor(room / 13); // no character is wider
  if (text.length <= sure) return text;
  const short = text.length > 400 ? text.slice(0, 400) : text;
  if (context.measureText(short).width <= room) return short;
  let [low, high] = [0, Math.min(short.length, Math.ceil(room / 2))];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(short.slice(0, middle) + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : short.slice(0, low) + "…";
}
