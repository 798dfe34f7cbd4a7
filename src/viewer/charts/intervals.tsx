// Changes as bars to the left (less) and to the right (more) of a line, each with its confidence interval. Bars that
// may be noise are pale.
import type { ComponentChildren } from "preact";
import { formatTick } from "../format";
import { useWidth } from "../widgets";
import { kSides } from "./colors";
import { scale } from "./scale";

export interface Change {
  name: ComponentChildren;
  figure: ComponentChildren; // its value, as a Figure
  value: number;
  low: number | null;
  high: number | null;
  sure: boolean;
}

const kRow = 24,
  kAxis = 20,
  kEdge = 28;

export function Intervals({ label, items, unit }: { label: string; items: Change[]; unit: string }) {
  const [measure, width] = useWidth(500);
  if (items.length === 0) return null;
  // Bars set the scale; an interval that is wider is cut, which an open end shows.
  const widest = 1.5 * items.reduce((most, { value }) => Math.max(most, Math.abs(value)), 0);
  const ends = items.flatMap(({ value, low, high }) => [
    value,
    Math.max(low ?? value, -widest),
    Math.min(high ?? value, widest),
  ]);
  const axis = scale(width - kEdge, kEdge, ends);
  const [least, most] = [axis.ticks[0], axis.ticks[axis.ticks.length - 1]];
  const x = (v: number) => axis.at(Math.max(least, Math.min(most, v)));
  return (
    <figure class="intervals" aria-label={label}>
      <ul class="names">
        {items.map((item) => (
          <li>
            <span class="name">{item.name}</span>
            {item.figure}
          </li>
        ))}
      </ul>
      <div ref={measure}>
        <svg width={width} height={kRow * items.length + kAxis} role="img" aria-label={label}>
          {axis.ticks.map((v) => (
            <g key={v}>
              <line class={v === 0 ? "grid zero" : "grid"} x1={x(v)} x2={x(v)} y1={0} y2={kRow * items.length} />
              <text class="tick" x={x(v)} y={kRow * items.length + 14} text-anchor="middle">
                {formatTick(v, axis.largest, unit)}
              </text>
            </g>
          ))}
          {items.map((item, i) => {
            const [from, to] = [Math.min(x(0), x(item.value)), Math.max(x(0), x(item.value))];
            const middle = kRow * i + kRow / 2;
            return (
              <g key={i}>
                <rect
                  x={from}
                  y={middle - 7}
                  width={Math.max(1, to - from)}
                  height={14}
                  fill={item.value > 0 ? kSides.more : kSides.less}
                  opacity={item.sure ? 1 : 0.35}
                />
                {item.low !== null && item.high !== null && (
                  <path
                    class="whisker"
                    d={
                      `M${x(item.low)} ${middle}H${x(item.high)}` +
                      (item.low >= least ? `M${x(item.low)} ${middle - 4}v8` : "") +
                      (item.high <= most ? `M${x(item.high)} ${middle - 4}v8` : "")
                    }
                  />
                )}
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}
