// Axes that begin and end at round numbers.
export interface Scale {
  at: (value: number) => number;
  ticks: number[];
  largest: number;
}

// From pixel `bottom` to pixel `top`, with room for all values, and round numbers between.
export function scale(top: number, bottom: number, values: number[]): Scale {
  const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [0, 0]);
  const step = niceStep((high - low) / 4);
  const [from, to] = [
    Math.floor(low / step) * step,
    Math.max(Math.ceil(high / step) * step, Math.floor(low / step) * step + step),
  ];
  const ticks: number[] = [];
  for (let i = 0; from + i * step <= to + step / 2; i++) ticks.push(from + i * step);
  return {
    at: (v) => bottom - ((bottom - top) * (v - from)) / (to - from),
    ticks,
    largest: Math.max(Math.abs(from), Math.abs(to)),
  };
}

// Round numbers between two, about so many.
export function ticksBetween(begin: number, end: number, count: number): number[] {
  const step = niceStep((end - begin) / count);
  const ticks: number[] = [];
  for (let v = Math.ceil(begin / step) * step; v <= end; v += step) ticks.push(v);
  return ticks;
}

// A round number from `least` on.
function niceStep(least: number): number {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const step of [1, 2, 2.5, 5, 10]) if (step * power >= least) return step * power;
  return 10 * power;
}
