// A flame graph with its root at the top: how wide a bar is says what its row is worth, what hangs on it lies below.
// A click, or Enter, makes a bar as wide as the graph; those above it lead back, Escape goes up by one.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Tree } from "../table/tree";
import { useWidth } from "../widgets";

interface Props {
  label: string;
  tree: Tree;
  roots: number[];  // rows at the top
  value: (row: number) => number | null;
  name: (row: number) => string;
  color: (row: number) => string;
  details: (row: number) => ComponentChildren;  // in the box beside a bar
  zoomed: number;  // the row that is as wide as the graph, -1: all
  onZoom: (row: number) => void;
}

interface Bar {
  row: number;
  level: number;
  x: number;
  width: number;
}

const kRow = 21, kNarrowest = 1, kCharacter = 6.6;  // px
const kTip = 270;

export function Flame({ label, tree, roots, value, name, color, details, zoomed, onZoom }: Props) {
  const [measure, width] = useWidth(800);
  const [over, setOver] = useState(-1);
  const scroller = useRef<HTMLDivElement>(null);
  const children = useMemo(() => tree.children(Array.from({ length: tree.n }, (_, row) => row)), [tree]);
  const bars = useMemo(() => layOut(tree, children, roots, value, zoomed, width), [tree, roots, value, zoomed, width]);
  const height = kRow * (1 + bars.reduce((most, bar) => Math.max(most, bar.level), 0));
  const pointed = bars.find((bar) => bar.row === over);

  const key = (e: KeyboardEvent) => {
    const now = pointed ?? bars[0];
    if (!now) return;
    const beside = bars.filter((bar) => bar.level === now.level).sort((a, b) => a.x - b.x);
    const place = beside.indexOf(now);
    const moves: Record<string, () => Bar | undefined> = {
      ArrowLeft: () => beside[place - 1], ArrowRight: () => beside[place + 1],
      ArrowUp: () => bars.find((bar) => bar.row === tree.parent[now.row]),
      ArrowDown: () => bars.find((bar) => tree.parent[bar.row] === now.row),
    };
    if (e.key in moves) setOver((pointed ? (moves[e.key]() ?? now) : now).row);
    else if (e.key === "Enter") onZoom(now.row);
    else if (e.key === "Escape" && zoomed >= 0) onZoom(tree.parent[zoomed]);
    else return;
    e.preventDefault();
  };
  if (bars.length === 0) return <p class="empty">No time is known here.</p>;
  return (
    <div class="flame" onMouseLeave={() => setOver(-1)}>
      <div class="flame-bars" ref={scroller} tabIndex={0} role="group" onKeyDown={key} onBlur={() => setOver(-1)}
           aria-label={`${label}; arrow keys go from bar to bar, Enter zooms, Escape goes back`}>
        <div ref={measure}>
          <svg width={width} height={height} role="img" aria-label={label}>
            {bars.map((bar) => (
              <g key={bar.row} class={over === bar.row ? "over" : undefined} onMouseEnter={() => setOver(bar.row)}
                 onClick={() => onZoom(bar.row === zoomed ? tree.parent[bar.row] : bar.row)}>
                <rect x={bar.x} y={kRow * bar.level} width={Math.max(kNarrowest, bar.width - 1)} height={kRow - 1}
                      style={{ fill: `color-mix(in srgb, ${color(bar.row)} 42%, var(--panel))` }} />
                {bar.width > 3 * kCharacter && <text x={bar.x + 5} y={kRow * bar.level + 14}>{cut(name(bar.row), bar.width - 10)}</text>}
              </g>
            ))}
          </svg>
        </div>
      </div>
      {pointed && (
        <div class="tip" role="status" ref={(tip) => {
          if (!tip) return;
          tip.style.left = `${Math.max(0, Math.min(width - kTip, pointed.x + Math.min(40, pointed.width / 2)))}px`;
          tip.style.top = `${kRow * (pointed.level + 1) + 6 - (scroller.current?.scrollTop ?? 0)}px`;
        }}>{details(pointed.row)}</div>
      )}
    </div>
  );
}

function layOut(tree: Tree, children: number[][], roots: number[], value: (row: number) => number | null, zoomed: number, width: number): Bar[] {
  const bars: Bar[] = [];
  const above: number[] = [];
  for (let up = zoomed < 0 ? -1 : tree.parent[zoomed]; up >= 0; up = tree.parent[up]) above.unshift(up);
  above.forEach((row, level) => bars.push({ row, level, x: 0, width }));
  const todo: { rows: number[]; level: number; x: number; scale: number }[] = [];
  const within = (rows: number[], level: number, x: number, whole: number, room: number) => {
    const sum = rows.reduce((all, row) => all + Math.max(0, value(row) ?? 0), 0);
    if (sum > 0) todo.push({ rows, level, x, scale: room / Math.max(sum, whole) });
  };
  within(zoomed < 0 ? roots : [zoomed], above.length, 0, 0, width);
  for (let i = 0; i < todo.length; i++) {
    const { rows, level, scale } = todo[i];
    let { x } = todo[i];
    for (const row of rows) {
      const known = Math.max(0, value(row) ?? 0);
      const wide = known * scale;
      if (wide >= kNarrowest) {
        bars.push({ row, level, x, width: wide });
        within(children[row], level + 1, x, known, wide);
      }
      x += wide;
    }
  }
  return bars;
}

function cut(text: string, room: number): string {
  const most = Math.floor(room / kCharacter);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
}
