// Two sides beside each other: for each item a bar of A and one of B, and as lines what they sum up to from the left;
// below, what B takes more, and that summed up. Lines have a scale of their own, at the right.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatTick, shortName } from "../format";
import { useWidth } from "../widgets";
import { kSides } from "./colors";
import { type Scale, scale } from "./scale";

export interface Pair {
  name: string;
  a: number;
  b: number;
  aSum: number; // of all up to it
  bSum: number;
}

interface Props {
  label: string;
  pairs: Pair[];
  unit: string;
  details: (i: number) => ComponentChildren; // in the box beside an item
  onPick?: (i: number) => void;
}

const kLeft = 72,
  kRight = 72,
  kTop = 10,
  kUpper = 200,
  kBetween = 26,
  kLower = 110,
  kTip = 270,
  kCharacter = 6.2;

export function Compare({ label, pairs, unit, details, onPick }: Props) {
  const [measure, width] = useWidth(800);
  const [pointed, setOver] = useState(-1);
  const over = pointed < pairs.length ? pointed : -1;
  const pick = () => {
    if (over < 0) return;
    setOver(-1);
    onPick?.(over);
  };
  const inner = Math.max(60, width - kLeft - kRight);
  const pitch = inner / Math.max(1, pairs.length);
  const bar = Math.max(0.5, Math.min(26, pitch * 0.36));
  const middle = (i: number) => kLeft + pitch * (i + 0.5);
  const upper = scale(kTop, kTop + kUpper, [0, ...pairs.flatMap((p) => [p.a, p.b])]);
  const sums = scale(kTop, kTop + kUpper, [0, ...pairs.flatMap((p) => [p.aSum, p.bSum])]);
  const from = kTop + kUpper + kBetween;
  const lower = scale(from, from + kLower, [0, ...pairs.map((p) => p.b - p.a)]);
  const change = scale(from, from + kLower, [0, ...pairs.map((p) => p.bSum - p.aSum)]);
  const names = pairs.map((p) => shortName(p.name));
  const flat = names.every((name) => name.length * kCharacter < pitch - 8);
  const below = flat ? 26 : 96;
  const height = from + kLower + below;
  const every = flat ? 1 : Math.max(1, Math.ceil(15 / pitch));

  const line = (at: (v: number) => number, of: (p: Pair) => number) =>
    "M" + pairs.map((p, i) => `${middle(i).toFixed(1)} ${at(of(p)).toFixed(1)}`).join("L");
  const column = (i: number, shift: number, v: number, to: Scale) => {
    const [y0, y1] = [to.at(0), to.at(v)];
    const [left, top] = [middle(i) + shift, Math.min(y0, y1)];
    return (
      `M${left.toFixed(1)} ${top.toFixed(1)}h${bar.toFixed(1)}` +
      `v${Math.abs(y1 - y0).toFixed(1)}h${(-bar).toFixed(1)}Z`
    );
  };
  const bars = (shift: number, of: (p: Pair) => number, to: Scale) =>
    pairs.map((p, i) => column(i, shift, of(p), to)).join("");
  const point = (e: MouseEvent) => {
    const i = Math.floor((e.clientX - (e.currentTarget as Element).getBoundingClientRect().left - kLeft) / pitch);
    setOver(i >= 0 && i < pairs.length ? i : -1);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "ArrowLeft" || e.key === "ArrowRight")
      setOver(Math.min(pairs.length - 1, Math.max(0, over + (e.key === "ArrowRight" ? 1 : -1))));
    else if (e.key === "Enter") pick();
    else return;
    e.preventDefault();
  };
  return (
    <div class="compare">
      <ul class="legend flat">
        <li>
          <Mark side="a" />
          A, baseline
        </li>
        <li>
          <Mark side="b" />
          B, experiment
        </li>
        <li>
          <Mark side="a" line />
          Baseline trend
        </li>
        <li>
          <Mark side="b" line />
          Exp trend
        </li>
        <li>
          <Mark side="more" />
          Diff, B slower
        </li>
        <li>
          <Mark side="less" />
          Diff, B faster
        </li>
        <li>
          <Mark side="sum" line />
          Accumulated diff
        </li>
      </ul>
      <div
        class={onPick ? "bars-plot picks" : "bars-plot"}
        ref={measure}
        tabIndex={0}
        role="group"
        aria-label={`${label}; arrow keys go from bar to bar${onPick ? ", Enter opens one" : ""}`}
        onKeyDown={key}
        onMouseMove={point}
        onMouseLeave={() => setOver(-1)}
        onBlur={() => setOver(-1)}
        onClick={pick}>
        <svg width={width} height={height} role="img" aria-label={label} data-label>
          {over >= 0 && (
            <rect class="column" x={kLeft + pitch * over} y={kTop} width={pitch} height={height - kTop - below} />
          )}
          <Axis scale={upper} other={sums} unit={unit} width={width} />
          <Axis scale={lower} other={change} unit={unit} width={width} />
          <path d={bars(-bar - 0.5, (p) => p.a, upper)} fill={kSides.a} />
          <path d={bars(0.5, (p) => p.b, upper)} fill={kSides.b} />
          <path d={bars(-bar / 2, (p) => Math.max(0, p.b - p.a), lower)} fill={kSides.more} />
          <path d={bars(-bar / 2, (p) => Math.min(0, p.b - p.a), lower)} fill={kSides.less} />
          <path class="trend" d={line(sums.at, (p) => p.aSum)} stroke={kSides.a} />
          <path class="trend b" d={line(sums.at, (p) => p.bSum)} stroke={kSides.b} />
          <path class="trend" d={line(change.at, (p) => p.bSum - p.aSum)} stroke={kSides.sum} />
          {pairs.map(
            (p, i) =>
              i % every === 0 && (
                <text
                  key={i}
                  class="tick"
                  transform={`translate(${middle(i).toFixed(1)} ${from + kLower + 16})${flat ? "" : "rotate(-40)"}`}
                  text-anchor={flat ? "middle" : "end"}>
                  <title>{p.name}</title>
                  {flat || names[i].length < 18 ? names[i] : names[i].slice(0, 16) + "…"}
                </text>
              ),
          )}
        </svg>
        {over >= 0 && (
          <div
            class="tip"
            role="status"
            ref={(tip) => {
              if (!tip) return;
              const x = middle(over) + pitch / 2 + 8;
              tip.style.left = `${Math.max(0, x + kTip > width ? middle(over) - pitch / 2 - kTip - 8 : x)}px`;
            }}>
            {details(over)}
          </div>
        )}
      </div>
    </div>
  );
}

function Axis({ scale, other, unit, width }: { scale: Scale; other: Scale; unit: string; width: number }) {
  return (
    <g>
      {scale.ticks.map((v) => (
        <g key={v}>
          <line
            class={v === 0 ? "grid zero" : "grid"}
            x1={kLeft}
            x2={width - kRight}
            y1={scale.at(v)}
            y2={scale.at(v)}
          />
          <text class="tick" x={kLeft - 8} y={scale.at(v) + 4} text-anchor="end">
            {formatTick(v, scale.largest, unit)}
          </text>
        </g>
      ))}
      {other.ticks.map((v) => (
        <text key={v} class="tick" x={width - kRight + 8} y={other.at(v) + 4}>
          {formatTick(v, other.largest, unit)}
        </text>
      ))}
    </g>
  );
}

function Mark({ side, line }: { side: keyof typeof kSides; line?: boolean }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      {line ? (
        <path class={side === "b" ? "trend b" : "trend"} d="M0 5h10" stroke={kSides[side]} />
      ) : (
        <rect width="10" height="10" rx="2" fill={kSides[side]} />
      )}
    </svg>
  );
}
