// Colours of the canvas. Each name has one, from the palette of the page, as light or dark as the page, and a colour of
// text that can be read on it.
import { timelineColors } from "../charts/colors";

export interface Colors {
  dark: boolean;
  back: string;
  panel: string;
  line: string;
  text: string;
  muted: string;
  accent: string;
  hit: string;
  font: string;
}

export function colorsNow(dark: boolean): Colors {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    dark,
    back: of("--back"),
    panel: of("--panel"),
    line: of("--line"),
    text: of("--text"),
    muted: of("--muted"),
    accent: of("--accent"),
    hit: of("--hit"),
    font: style.fontFamily,
  };
}

export type Rgb = [number, number, number];

export function rgbOf(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// As a pixel of an ImageData on a little-endian machine, without its alpha.
export const packed = ([r, g, b]: Rgb) => r | (g << 8) | (b << 16);
export const css = (pixel: number) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;

// Categories that are not work of the program stand back.
const kQuiet = new Set([
  "python_function",
  "overhead",
  "user_annotation",
  "gpu_user_annotation",
  "step",
  "evaluation",
  "after_loop",
  "left_over",
  "between",
]);

export class NameColors {
  private readonly pixels: Uint32Array; // by name
  private readonly known: Uint8Array;
  private readonly quiet: boolean[];

  constructor(
    private readonly names: string[],
    categories: string[],
    private readonly dark: boolean,
  ) {
    this.pixels = new Uint32Array(2 * names.length);
    this.known = new Uint8Array(2 * names.length);
    this.quiet = categories.map((category) => kQuiet.has(category));
  }

  of(name: number, category: number): number {
    const quiet = this.quiet[category] ? 1 : 0;
    const at = 2 * name + quiet;
    if (!this.known[at]) {
      this.known[at] = 1;
      this.pixels[at] = packed(colorOfName(this.names[name], quiet === 1, this.dark));
    }
    return this.pixels[at];
  }
}

function colorOfName(name: string, quiet: boolean, dark: boolean): Rgb {
  // Steps, layers and the like that differ only in a number have one colour.
  const hash = hashOf(name.replace(/[\d_#]+$/, ""));
  const color = rgbOf(timelineColors[hash % timelineColors.length]);
  const paper: Rgb = dark ? [25, 29, 34] : [255, 255, 255];
  const share = (quiet ? 0.62 : 0.3) + 0.09 * ((hash >>> 8) % 3);
  return color.map((c, k) => Math.round(c + (paper[k] - c) * share)) as Rgb;
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash ^ (hash >>> 15)) >>> 0;
}

// Black or white, which has the larger contrast with a pixel.
export function inkOn(pixel: number): string {
  const [r, g, b] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255].map((c) => (c / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#14181d" : "#ffffff";
}
