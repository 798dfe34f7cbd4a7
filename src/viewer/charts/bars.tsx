// Stacked bars, one for each step: what it is made of. Pointing at a bar, or the arrow keys, says its parts.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatTick } from "../format";
import { useWidth } from "../widgets";
import { Swatch } from "./donut";

export interface Part {
  name: string;
  color: string;
}

interface Props {
  label: string;
  names: string[]; // of the bars
  parts: Part[];
  value: (bar: number, part: number) => number | null;
  unit: string;
  details: (bar: number) => ComponentChildren; // in the box beside a bar
}

const kTip = 260; // as in style/charts.css
const kLeft = 72,
  kBottom = 22,
  kTop = 8,
  kHeight = 220;

export function StackedBars({ label, names, parts, value, unit, details }: Props) {
  const [measure, width] = useWidth(800);
  const [over, setOver] = useState(-1);
  const sums = names.map((_, bar) => parts.reduce((sum, _part, part) => sum + Math.max(0, value(bar, part) ?? 0), 0));
  const top = niceTop(Math.max(...sums, 0));
  const inner = Math.max(50, width - kLeft - 8);
  const pitch = inner / Math.max(1, names.length);
  const bar = Math.min(64, pitch > 6 ? pitch * 0.72 : pitch);
  const x = (i: number) => kLeft + pitch * (i + 0.5) - bar / 2;
  const y = (v: number) => kTop + (kHeight - kTop - kBottom) * (1 - v / (top || 1));
  const every = Math.max(1, Math.ceil((Math.max(...names.map((n) => n.length), 1) * 7 + 10) / pitch));
  const paths = parts.map((_, part) => {
    let d = "";
    for (let i = 0; i < names.length; i++) {
      let below = 0;
      for (let k = 0; k < part; k++) below += Math.max(0, value(i, k) ?? 0);
      const v = Math.max(0, value(i, part) ?? 0);
      if (v > 0)
        d +=
          `M${x(i).toFixed(2)} ${y(below).toFixed(2)}h${bar.toFixed(2)}` +
          `V${y(below + v).toFixed(2)}h${(-bar).toFixed(2)}Z`;
    }
    return d;
  });
  const point = (e: MouseEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    const i = Math.floor((e.clientX - box.left - kLeft) / pitch);
    setOver(i >= 0 && i < names.length ? i : -1);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
    e.preventDefault();
    setOver(Math.min(names.length - 1, Math.max(0, over + (e.key === "ArrowRight" ? 1 : -1))));
  };
  return (
    <div class="bars" ref={measure}>
      <ul class="legend flat">
        {parts.map((part) => (
          <li key={part.name}>
            <Swatch color={part.color} />
            {part.name}
          </li>
        ))}
      </ul>
      <div
        class="bars-plot"
        tabIndex={0}
        role="group"
        aria-label={`${label}; arrow keys go from step to step`}
        onKeyDown={key}
        onMouseMove={point}
        onMouseLeave={() => setOver(-1)}
        onBlur={() => setOver(-1)}>
        <svg width={width} height={kHeight} role="img" aria-label={label} data-label>
          {[0, 0.25, 0.5, 0.75, 1].map((share) => (
            <g key={share}>
              <line class="grid" x1={kLeft} x2={width - 8} y1={y(share * top)} y2={y(share * top)} />
              <text class="tick" x={kLeft - 8} y={y(share * top) + 4} text-anchor="end">
                {formatTick(share * top, top, unit)}
              </text>
            </g>
          ))}
          {over >= 0 && (
            <rect class="column" x={kLeft + pitch * over} y={kTop} width={pitch} height={kHeight - kTop - kBottom} />
          )}
          {parts.map((part, i) => (
            <path key={part.name} d={paths[i]} fill={part.color} />
          ))}
          {names.map(
            (name, i) =>
              i % every === 0 && (
                <text key={i} class="tick" x={x(i) + bar / 2} y={kHeight - 6} text-anchor="middle">
                  {name}
                </text>
              ),
          )}
        </svg>
        {over >= 0 && (
          <div
            class="tip"
            role="status"
            ref={(tip) => {
              if (tip) tip.style.left = `${tipLeft(x(over), bar, width)}px`;
            }}>
            {details(over)}
          </div>
        )}
      </div>
    </div>
  );
}

// Right of the bar, or left of it where there is no room.
function tipLeft(bar: number, barWidth: number, width: number): number {
  const right = bar + barWidth + 10;
  return right + kTip <= width ? right : Math.max(0, bar - 10 - kTip);
}

// The next round number above: the axis ends there.
function niceTop(largest: number): number {
  if (!(largest > 0)) return 1;
  const scale = 10 ** Math.floor(Math.log10(largest));
  for (const step of [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]) if (step * scale >= largest) return step * scale;
  return 10 * scale;
}
