// A tree as bars: a flame graph, in which the value of a row is the width of its bar, or a timeline, in which bars lie
// at their times. The children of a row are below it, or above it where the root is at the bottom.
// A click or Enter makes a bar as wide as the graph. The bars around it lead back, and Escape goes up by one.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatTick } from "../format";
import { useParams } from "../state";
import { useDark, useWidth } from "../widgets";
import { kRow, paint, type Look } from "./flame_paint";
import { axisOf, barAt, neighbour, visibleLevels, type Bars } from "./flame_bars";
import { ticksBetween } from "./scale";

export type { Bars } from "./flame_bars";

interface Props {
  label: string;
  bars: Bars;
  look: Look;
  details: (row: number) => ComponentChildren; // in the box beside a bar
  timed?: boolean; // the axis is time, in us: it has ticks
  flipped?: boolean; // the root is at the bottom
  zoomed: number; // the row that is as wide as the graph, -1: all
  onZoom: (row: number) => void;
  picked?: number; // the row that is chosen
  onPick?: (row: number) => void; // a click chooses a bar, a double click or Enter zooms
  empty?: string;
}

const kTip = 300; // px

export function Flame({ label, bars, look, details, timed, flipped, zoomed, onZoom, picked, onPick, empty }: Props) {
  const { params } = useParams();
  const [measure, width] = useWidth(800);
  const [over, setOver] = useState(-1);
  const [top, setTop] = useState(0); // px that are scrolled
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark(params.theme);
  const levels = useMemo(() => visibleLevels(bars, zoomed), [bars, zoomed]);
  const height = kRow * levels.length;
  const [begin, end] = axisOf(bars, zoomed);
  const scale = width / (end - begin);
  const x = (at: number) => (Math.min(end, Math.max(begin, at)) - begin) * scale;
  const y = (level: number) => kRow * (flipped ? levels.length - 1 - level : level);
  const pointed = over >= 0 && bars.to[over] > bars.from[over] ? over : -1;
  const none = !bars.roots.some((row) => bars.to[row] > bars.from[row]);

  useEffect(() => setOver(-1), [bars, zoomed]);
  useEffect(() => {
    if (flipped && scroller.current) scroller.current.scrollTop = height;
  }, [bars, zoomed, flipped, height]);
  const drawn = useRef(0);
  useEffect(() => {
    if (!canvas.current || !scroller.current) return;
    const seen = Math.min(height, scroller.current.clientHeight || height);
    drawn.current = paint(canvas.current, { bars, levels, look, begin, end, width, y, top, seen, zoomed, dark });
    canvas.current.dataset.bars = String(drawn.current);
  }, [bars, levels, look, width, top, zoomed, dark, flipped, height]);

  const rowAt = (e: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const line = Math.floor((e.clientY - box.top + top) / kRow);
    const level = flipped ? levels.length - 1 - line : line;
    return barAt(bars, levels[level] ?? [], begin + (e.clientX - box.left) / scale, 1 / scale);
  };
  const point = (row: number) => {
    setOver(row);
    const field = scroller.current;
    if (row < 0 || !field) return;
    const line = y(bars.level[row]);
    if (line < field.scrollTop) field.scrollTop = line;
    else if (line + kRow > field.scrollTop + field.clientHeight) field.scrollTop = line + kRow - field.clientHeight;
  };
  const zoom = (row: number) => onZoom(row === zoomed ? bars.parent[row] : row);
  const key = (e: KeyboardEvent) => {
    const now = pointed >= 0 ? pointed : zoomed >= 0 ? zoomed : (levels[0]?.[0] ?? -1);
    if (now < 0) return;
    const way = flipped ? ({ ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" } as Record<string, string>)[e.key] : undefined;
    const next = neighbour(bars, levels, now, way ?? e.key);
    if (next !== undefined) point(pointed >= 0 || next < 0 ? (next < 0 ? now : next) : now);
    else if (e.key === "Enter") onPick ? (onPick(now), zoom(now)) : zoom(now);
    else if (e.key === " " && onPick) onPick(now);
    else if (e.key === "Escape" && zoomed >= 0) onZoom(bars.parent[zoomed]);
    else return;
    e.preventDefault();
  };
  const inSight = (row: number) => row >= 0 && bars.to[row] > begin && bars.from[row] < end;
  const placeOf = (row: number) => ({
    left: `${x(bars.from[row])}px`,
    width: `${Math.max(2, x(bars.to[row]) - x(bars.from[row]))}px`,
    top: `${y(bars.level[row])}px`,
    height: `${kRow - 1}px`,
  });
  if (none) return <p class="empty">{empty ?? "No time is known here."}</p>;
  return (
    <div class="flame" onMouseLeave={() => setOver(-1)}>
      {timed && end > begin && (
        <svg class="flame-axis" width={width} height={18} aria-hidden="true" data-label>
          {ticksBetween(begin, end, Math.max(2, width / 140)).map((v) => {
            const at = x(v);
            return (
              <g key={v}>
                <line class="grid" x1={at} x2={at} y1={13} y2={18} />
                <text class="tick" x={at} y={11} text-anchor={at < 30 ? "start" : at > width - 30 ? "end" : "middle"}>
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
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
        onMouseMove={(e) => setOver(rowAt(e))}
        onClick={(e) => {
          const row = rowAt(e);
          if (row >= 0) (onPick ?? zoom)(row);
        }}
        onDblClick={(e) => {
          const row = rowAt(e);
          if (onPick && row >= 0) zoom(row);
        }}
        aria-label={`${label}; arrow keys go from bar to bar, Enter zooms, Escape goes back`}>
        <div class="flame-room" ref={measure} style={{ height: `${height}px` }}>
          <canvas ref={canvas} role="img" aria-label={label} />
          {picked !== undefined && inSight(picked) && <div class="flame-picked" style={placeOf(picked)} />}
          {pointed >= 0 && <div class="flame-over" style={placeOf(pointed)} />}
        </div>
      </div>
      {pointed >= 0 && (
        <div
          class="tip"
          role="status"
          ref={(tip) => {
            if (!tip) return;
            const field = scroller.current!;
            const line = y(bars.level[pointed]) - top;
            const below = line + kRow + 6 + tip.offsetHeight + field.getBoundingClientRect().top < innerHeight;
            const middle = x(bars.from[pointed]) + Math.min(40, (x(bars.to[pointed]) - x(bars.from[pointed])) / 2);
            tip.style.left = `${Math.max(0, Math.min(width - kTip, middle))}px`;
            tip.style.top = `${field.offsetTop + (below ? line + kRow + 6 : line - tip.offsetHeight - 6)}px`;
          }}>
          {details(pointed)}
        </div>
      )}
    </div>
  );
}
