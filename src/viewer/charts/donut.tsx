// Shares of a whole: a ring, and beside it the names, largest first. What is beyond the first slices is "Others".
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { format, kUnknown } from "../format";
import { kGrey } from "./colors";

export interface Slice {
  name: string;
  value: number;
  color: string;
  figure: ComponentChildren; // its value, as a Figure
}

interface Props {
  title: string;
  unit: string;
  slices: Slice[];
  legend?: boolean; // false: a table beside it says the values
}

const kRadius = 50,
  kHole = 31;

export function Donut({ title, slices, unit, legend = true }: Props) {
  const [over, setOver] = useState("");
  const shown = slices.filter((slice) => slice.value > 0);
  const sum = shown.reduce((all, slice) => all + slice.value, 0);
  let from = 0;
  const arcs = shown.map((slice) => {
    const begin = from / sum;
    from += slice.value;
    return { ...slice, begin, end: from / sum };
  });
  const percent = (value: number) => (sum > 0 ? format((100 * value) / sum, "percent") : kUnknown);
  const summary = arcs.map((a) => `${a.name} ${percent(a.value)}`).join(", ");
  return (
    <figure class="donut">
      <figcaption>{title}</figcaption>
      {sum > 0 ? (
        <div class="donut-body">
          <svg viewBox="-52 -52 104 104" role="img" aria-label={`${title}: ${summary}`} data-label>
            {arcs.map((a) => (
              <path
                key={a.name}
                d={arc(a.begin, a.end)}
                fill={a.color}
                class={over && over !== a.name ? "dim" : undefined}
                onMouseEnter={() => setOver(a.name)}
                onMouseLeave={() => setOver("")}>
                <title>{`${a.name}: ${format(a.value, unit)}, ${percent(a.value)}`}</title>
              </path>
            ))}
          </svg>
          {legend && (
            <ul class="legend">
              {arcs.map((a) => (
                <li
                  key={a.name}
                  class={over && over !== a.name ? "dim" : undefined}
                  onMouseEnter={() => setOver(a.name)}
                  onMouseLeave={() => setOver("")}
                  title={a.name.slice(0, 2000)}>
                  <Swatch color={a.color} />
                  <bdi class="name">{a.name}</bdi>
                  {a.figure}
                </li>
              ))}
            </ul>
          )}
        </div>
      ) : (
        <p class="empty">No time is known here.</p>
      )}
    </figure>
  );
}

export function Swatch({ color }: { color: string }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={color} />
    </svg>
  );
}

// The first `most` of a list by value; the rest in one slice, whose value depends on `most`.
export function withOthers(slices: Slice[], most: number, others: (value: number) => ComponentChildren): Slice[] {
  const sorted = slices.filter((slice) => slice.value > 0).sort((a, b) => b.value - a.value);
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most).reduce((all, slice) => all + slice.value, 0);
  return [...sorted.slice(0, most), { name: "Others", value: rest, color: kGrey, figure: others(rest) }];
}

function arc(begin: number, end: number): string {
  const point = (share: number, radius: number) =>
    `${(radius * Math.sin(2 * Math.PI * share)).toFixed(3)} ${(-radius * Math.cos(2 * Math.PI * share)).toFixed(3)}`;
  if (end - begin > 0.9999)
    return (
      `M0 ${-kRadius}A${kRadius} ${kRadius} 0 1 1 0 ${kRadius}A${kRadius} ${kRadius} 0 1 1 0 ${-kRadius}` +
      `M0 ${-kHole}A${kHole} ${kHole} 0 1 0 0 ${kHole}A${kHole} ${kHole} 0 1 0 0 ${-kHole}Z`
    );
  const large = end - begin > 0.5 ? 1 : 0;
  return (
    `M${point(begin, kRadius)}A${kRadius} ${kRadius} 0 ${large} 1 ${point(end, kRadius)}` +
    `L${point(end, kHole)}A${kHole} ${kHole} 0 ${large} 0 ${point(begin, kHole)}Z`
  );
}
