// A grid of cells, darker (on a dark page: lighter) where the value is larger. Only the lightness of one hue varies, so
// that colour-blind people see the same. Pointing or the arrow keys show a cell's figures; a click or Enter chooses its
// column.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { format } from "../format";
import { useParams } from "../state";
import { useDark, useWidth } from "../widgets";

interface Props {
  label: string;
  rows: string[];
  columns: string[];
  value: (row: number, column: number) => number | null;
  unit: string;
  chosen?: number; // column
  onPick?: (column: number) => void;
  details: (row: number, column: number) => ComponentChildren;
}

const kGap = 1,
  kTop = 20,
  kTip = 250;

export function HeatMap(props: Props) {
  const { label, rows, columns, value, unit, chosen, onPick, details } = props;
  const { params } = useParams();
  const [measure, width] = useWidth(800);
  const canvas = useRef<HTMLCanvasElement>(null);
  const field = useRef<HTMLDivElement>(null);
  const [over, setOver] = useState<[number, number]>();
  const left = Math.min(180, 16 + 6.6 * Math.max(...rows.map((name) => name.length), 4));
  const cell = {
    w: Math.min(120, Math.max(4, (width - left) / columns.length)),
    h: Math.min(24, Math.max(5, 420 / rows.length)),
  };
  const size = { w: Math.max(width, left + cell.w * columns.length), h: kTop + cell.h * rows.length };
  let [least, most] = [Infinity, -Infinity];
  for (let row = 0; row < rows.length; row++)
    for (let column = 0; column < columns.length; column++) {
      const v = value(row, column);
      if (v !== null) [least, most] = [Math.min(least, v), Math.max(most, v)];
    }
  const dark = useDark(params.theme);

  useEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const style = getComputedStyle(document.documentElement);
    const scale = devicePixelRatio || 1;
    canvas.current!.width = size.w * scale;
    canvas.current!.height = size.h * scale;
    canvas.current!.style.width = `${size.w}px`;
    canvas.current!.style.height = `${size.h}px`;
    context.scale(scale, scale);
    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = style.getPropertyValue("--muted");
    const every = (pixels: number, wanted: number) => Math.max(1, Math.ceil(wanted / pixels));
    context.textAlign = "right";
    for (let row = 0; row < rows.length; row += every(cell.h, 13))
      context.fillText(shortened(rows[row]), left - 8, kTop + cell.h * (row + 0.5) + 4);
    context.textAlign = "center";
    const wide = 6.6 * Math.max(...columns.map((name) => name.length)) + 10;
    for (let column = 0; column < columns.length; column += every(cell.w, wide))
      context.fillText(columns[column], left + cell.w * (column + 0.5), kTop - 7);
    for (let row = 0; row < rows.length; row++)
      for (let column = 0; column < columns.length; column++) {
        const v = value(row, column);
        const [x, y, w, h] = [left + cell.w * column, kTop + cell.h * row, cell.w - kGap, cell.h - kGap];
        if (v === null) {
          context.strokeStyle = style.getPropertyValue("--line");
          context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
        } else {
          context.fillStyle = shade(most > least ? (v - least) / (most - least) : 0, dark);
          context.fillRect(x, y, w, h);
        }
      }
    context.strokeStyle = style.getPropertyValue("--text");
    context.lineWidth = 1.5;
    if (chosen !== undefined)
      context.strokeRect(left + cell.w * chosen - 1, kTop - 1, cell.w + 1, cell.h * rows.length + 1);
    if (over) context.strokeRect(left + cell.w * over[1] - 0.5, kTop + cell.h * over[0] - 0.5, cell.w, cell.h);
  });

  const point = (e: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const [row, column] = [
      Math.floor((e.clientY - box.top - kTop) / cell.h),
      Math.floor((e.clientX - box.left - left) / cell.w),
    ];
    setOver(row >= 0 && row < rows.length && column >= 0 && column < columns.length ? [row, column] : undefined);
  };
  const kMoves: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const key = (e: KeyboardEvent) => {
    const move = kMoves[e.key];
    if (move)
      setOver([
        between(over ? over[0] + move[0] : 0, rows.length),
        between(over ? over[1] + move[1] : 0, columns.length),
      ]);
    else if ((e.key === "Enter" || e.key === " ") && over) onPick?.(over[1]);
    else return;
    e.preventDefault();
  };
  const tip = (element: HTMLElement | null) => {
    if (!element || !over) return;
    const x = left + cell.w * (over[1] + 1) + 10 - (field.current?.scrollLeft ?? 0);
    element.style.left = `${Math.max(0, x + kTip > width ? x - kTip - cell.w - 20 : x)}px`;
    element.style.top = `${(field.current?.offsetTop ?? 0) + kTop + cell.h * (over[0] + 1)}px`;
  };
  return (
    <div class="heat" ref={measure}>
      <Scale least={least} most={most} unit={unit} dark={dark} />
      <div
        class="heat-field"
        ref={field}
        tabIndex={0}
        role="group"
        aria-label={`${label}; arrow keys go from cell to cell, Enter chooses the step`}
        onMouseMove={point}
        onMouseLeave={() => setOver(undefined)}
        onBlur={() => setOver(undefined)}
        onKeyDown={key}
        onClick={() => over && onPick?.(over[1])}>
        <canvas ref={canvas} role="img" aria-label={label} />
      </div>
      {over && (
        <div class="tip" role="status" ref={tip}>
          {details(over[0], over[1])}
        </div>
      )}
    </div>
  );
}

function Scale({ least, most, unit, dark }: { least: number; most: number; unit: string; dark: boolean }) {
  if (!(most >= least)) return null;
  const shades = Array.from({ length: 24 }, (_, i) => shade(i / 23, dark));
  return (
    <div class="heat-scale" aria-hidden="true">
      <span class="tick">{format(least, unit)}</span>
      <svg width="144" height="10">
        {shades.map((color, i) => (
          <rect x={i * 6} width="6" height="10" fill={color} />
        ))}
      </svg>
      <span class="tick">{format(most, unit)}</span>
    </div>
  );
}

// Light pages go from pale to dark blue, dark ones from dark to pale: what is largest differs most from the page.
const kStops: Record<"light" | "dark", [number, number, number][]> = {
  light: [
    [226, 236, 247],
    [110, 174, 222],
    [12, 80, 150],
    [6, 34, 74],
  ],
  dark: [
    [34, 44, 56],
    [28, 90, 150],
    [96, 176, 236],
    [222, 240, 255],
  ],
};

function shade(share: number, dark: boolean): string {
  const stops = kStops[dark ? "dark" : "light"];
  const at = Math.min(0.99999, Math.max(0, share)) * (stops.length - 1);
  const [from, to, part] = [stops[Math.floor(at)], stops[Math.floor(at) + 1], at % 1];
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * part)).join(" ")})`;
}

const between = (i: number, n: number) => Math.min(n - 1, Math.max(0, i));
const shortened = (text: string) => (text.length > 24 ? text.slice(0, 11) + "…" + text.slice(-12) : text);
