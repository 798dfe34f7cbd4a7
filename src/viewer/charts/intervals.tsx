// Changes as bars to the left (less) and to the right (more) of a line, each with the interval in which it lies. Bars that
// are no more than noise are pale.
import type { ComponentChildren } from "preact";
import { formatTick } from "../format";
import { useWidth } from "../widgets";
import { kSides } from "./colors";

export interface Change {
  name: ComponentChildren;
  figure: ComponentChildren;  // its value, as a Figure
  value: number;
  low: number | null;
  high: number | null;
  sure: boolean;
}

const kRow = 24, kAxis = 20;

export function Intervals({ label, items, unit }: { label: string; items: Change[]; unit: string }) {
  const [measure, width] = useWidth(500);
  if (items.length === 0) return null;
  // Bars set the scale; an interval that is wider is cut, which an open end shows.
  const most = items.reduce((all, item) => Math.max(all, Math.abs(item.value)), 0) * 1.6 || 1;
  const x = (v: number) => (width / 2) * (1 + Math.max(-1, Math.min(1, v / most)) * 0.97);
  return (
    <figure class="intervals" aria-label={label}>
      <ul class="names">{items.map((item) => <li><span class="name">{item.name}</span>{item.figure}</li>)}</ul>
      <div ref={measure}>
        <svg width={width} height={kRow * items.length + kAxis} role="img" aria-label={label}>
          {[-1, -0.5, 0, 0.5, 1].map((share) => (
            <g key={share}>
              <line class={share === 0 ? "grid zero" : "grid"} x1={x(share * most)} x2={x(share * most)} y1={0} y2={kRow * items.length} />
              {share !== 0 && <text class="tick" x={x(share * most)} y={kRow * items.length + 14} text-anchor={share === -1 ? "start" : share === 1 ? "end" : "middle"}>
                {formatTick(Number((share * most).toPrecision(2)), most, unit)}</text>}
            </g>
          ))}
          {items.map((item, i) => {
            const [from, to] = [Math.min(x(0), x(item.value)), Math.max(x(0), x(item.value))];
            const middle = kRow * i + kRow / 2;
            return (
              <g key={i}>
                <rect x={from} y={middle - 7} width={Math.max(1, to - from)} height={14} fill={item.value > 0 ? kSides.more : kSides.less} opacity={item.sure ? 1 : 0.35} />
                {item.low !== null && item.high !== null && (
                  <path class="whisker" d={`M${x(item.low)} ${middle}H${x(item.high)}` + (item.low > -most ? `M${x(item.low)} ${middle - 4}v8` : "") +
                                           (item.high < most ? `M${x(item.high)} ${middle - 4}v8` : "")} />
                )}
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}
