// A tree as bars with the root at the top: a flame graph, in which the value of a row is the width of its bar, or a
// timeline, in which bars lie at their times. The children of a row are below it.
// A click or Enter makes a bar as wide as the graph. The bars above it lead back, and Escape goes up by one.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Tree } from "../table/tree";
import { formatTick } from "../format";
import { useWidth } from "../widgets";
import { ticksBetween } from "./scale";

interface Props {
  label: string;
  tree: Tree;
  spans: Spans;
  name: (row: number) => string;
  color: (row: number) => string;
  details: (row: number) => ComponentChildren; // in the box beside a bar
  timed: boolean; // the axis is time, in us: it has ticks
  zoomed: number; // the row that is as wide as the graph, -1: all
  onZoom: (row: number) => void;
}

// By row: where its bar begins and ends, in units of the axis. NaN: it has none.
export interface Spans {
  from: Float64Array;
  to: Float64Array;
  roots: number[]; // rows at the top
}

interface Bar {
  row: number;
  level: number;
  x: number;
  width: number;
}

const kRow = 21,
  kNarrowest = 1,
  kCharacter = 6.6; // px
const kTip = 270;

export function Flame({ label, tree, spans, name, color, details, timed, zoomed, onZoom }: Props) {
  const [measure, width] = useWidth(800);
  const [over, setOver] = useState(-1);
  const scroller = useRef<HTMLDivElement>(null);
  const children = useMemo(() => tree.children(tree.below(-1)), [tree]);
  const bars = useMemo(() => layOut(children, spans, zoomed, width), [tree, spans, zoomed, width]);
  const height = kRow * (1 + bars.reduce((most, bar) => Math.max(most, bar.level), 0));
  const [begin, end] = axisOf(spans, zoomed);
  const pointed = bars.find((bar) => bar.row === over);

  const key = (e: KeyboardEvent) => {
    const now = pointed ?? bars[0];
    if (!now) return;
    const beside = bars.filter((bar) => bar.level === now.level).sort((a, b) => a.x - b.x);
    const place = beside.indexOf(now);
    const moves: Record<string, () => Bar | undefined> = {
      ArrowLeft: () => beside[place - 1],
      ArrowRight: () => beside[place + 1],
      ArrowUp: () => bars.find((bar) => bar.row === tree.parent[now.row]),
      ArrowDown: () => bars.find((bar) => tree.parent[bar.row] === now.row),
    };
    if (e.key in moves) setOver((pointed ? (moves[e.key]() ?? now) : now).row);
    else if (e.key === "Enter") onZoom(now.row);
    else if (e.key === "Escape" && zoomed >= 0) onZoom(tree.parent[zoomed]);
    else return;
    e.preventDefault();
  };
  if (!spans.roots.some((row) => spans.to[row] > spans.from[row])) return <p class="empty">No time is known here.</p>;
  return (
    <div class="flame" onMouseLeave={() => setOver(-1)}>
      {timed && end > begin && (
        <svg class="flame-axis" width={width} height={18} aria-hidden="true" data-label>
          {ticksBetween(begin, end, Math.max(2, width / 140)).map((v) => {
            const x = (width * (v - begin)) / (end - begin);
            return (
              <g key={v}>
                <line class="grid" x1={x} x2={x} y1={13} y2={18} />
                <text class="tick" x={x} y={11} text-anchor={x < 30 ? "start" : x > width - 30 ? "end" : "middle"}>
                  {formatTick(v, end, "us")}
                </text>
              </g>
            );
          })}
        </svg>
      )}
      <div
        class="flame-bars"
        ref={scroller}
        tabIndex={0}
        role="group"
        onKeyDown={key}
        onBlur={() => setOver(-1)}
        aria-label={`${label}; arrow keys go from bar to bar, Enter zooms, Escape goes back`}>
        <div ref={measure}>
          <svg width={width} height={height} role="img" aria-label={label} data-label>
            {bars.map((bar) => (
              <g
                key={bar.row}
                class={over === bar.row ? "over" : undefined}
                onMouseEnter={() => setOver(bar.row)}
                onClick={() => onZoom(bar.row === zoomed ? tree.parent[bar.row] : bar.row)}>
                <rect
                  x={bar.x}
                  y={kRow * bar.level}
                  width={Math.max(kNarrowest, bar.width - 1)}
                  height={kRow - 1}
                  style={{ fill: `color-mix(in srgb, ${color(bar.row)} 42%, var(--panel))` }}
                />
                {bar.width > 3 * kCharacter && (
                  <text x={bar.x + 5} y={kRow * bar.level + 14}>
                    {cut(name(bar.row), bar.width - 10)}
                  </text>
                )}
              </g>
            ))}
          </svg>
        </div>
      </div>
      {pointed && (
        <div
          class="tip"
          role="status"
          ref={(tip) => {
            if (!tip) return;
            tip.style.left = `${Math.max(0, Math.min(width - kTip, pointed.x + Math.min(40, pointed.width / 2)))}px`;
            tip.style.top = `${kRow * (pointed.level + 1) + 6 - (scroller.current?.scrollTop ?? 0)}px`;
          }}>
          {details(pointed.row)}
        </div>
      )}
    </div>
  );
}

// The bars of a flame graph, side by side in the order of the rows. Each is as wide as its value, but not wider than
// its parent.
export function spansOf(tree: Tree, roots: number[], value: (row: number) => number | null): Spans {
  const out = { from: new Float64Array(tree.n).fill(NaN), to: new Float64Array(tree.n).fill(NaN), roots };
  const children = tree.children(tree.below(-1));
  const known = (row: number) => Math.max(0, value(row) ?? 0);
  const place = (rows: number[], begin: number, room: number) => {
    const sum = rows.reduce((all, row) => all + known(row), 0);
    const scale = sum > room ? room / sum : 1;
    let x = begin;
    for (const row of rows) {
      out.from[row] = x;
      x += known(row) * scale;
      out.to[row] = x;
    }
  };
  place(roots, 0, Infinity);
  // Rows come after their parents.
  for (const row of tree.below(-1))
    if (!Number.isNaN(out.from[row])) place(children[row], out.from[row], out.to[row] - out.from[row]);
  return out;
}

// Where the graph begins and ends.
function axisOf({ from, to, roots }: Spans, zoomed: number): [number, number] {
  if (zoomed >= 0) return [from[zoomed], to[zoomed]];
  return [
    roots.reduce((least, row) => Math.min(least, from[row]), Infinity),
    roots.reduce((most, row) => Math.max(most, to[row]), -Infinity),
  ];
}

function layOut(children: number[][], spans: Spans, zoomed: number, width: number): Bar[] {
  const bars: Bar[] = [];
  const { from, to, roots } = spans;
  const [begin, end] = axisOf(spans, zoomed);
  const x = (at: number) => (width * (Math.min(end, Math.max(begin, at)) - begin)) / (end - begin);
  let rows = roots;
  for (let level = 0; rows.length > 0 && end > begin; level++) {
    const below: number[] = [];
    for (const row of rows) {
      const left = x(from[row]);
      const wide = x(to[row]) - left;
      if (!(wide >= kNarrowest)) continue;
      bars.push({ row, level, x: left, width: wide });
      for (const child of children[row]) below.push(child);
    }
    rows = below;
  }
  return bars;
}

function cut(text: string, room: number): string {
  const most = Math.floor(room / kCharacter);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
}
