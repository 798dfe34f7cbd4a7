// Curves over time, by uPlot: pointing says values, dragging chooses a range, the right button takes it back.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { format, formatTick } from "../format";
import { useParams } from "../state";
import { useWidth } from "../widgets";

export interface Curve {
  title: string;
  color: string;
  values: (number | null)[];
  filled?: boolean; // down to the axis
}

interface Props {
  label: string;
  times: number[]; // us, ascending
  curves: Curve[];
  unit: string; // of the values
  stepped?: boolean; // a value holds until the next one
  height?: number;
  mark?: number; // a time that is marked
  span?: [number | null, number | null]; // a stretch that is marked; null: it has no begin or no end here
  range?: [number, number]; // that is shown
  onRange?: (begin: number, end: number) => void;
  onReset?: () => void;
  onClick?: (time: number) => void;
}

// Ticks of sizes: whole KB, MB, GB.
const kPowersOfTwo = Array.from({ length: 50 }, (_, i) => 2 ** i);

export function Series(props: Props) {
  const { times, curves, unit, stepped, height = 240, mark, span, range } = props;
  const [measure, width] = useWidth(800);
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { theme } = useParams().params;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;

  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const [text, muted, line, accent] = ["--text", "--muted", "--line", "--accent"].map((name) =>
      style.getPropertyValue(name),
    );
    const axis = {
      stroke: muted,
      font: `11px ${style.fontFamily}`,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
    };
    const made = new uPlot(
      {
        width,
        height,
        scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.06 : 1] } },
        axes: [
          { ...axis, size: 30, space: 84, values: (_, at) => at.map((v) => formatTick(v, at[at.length - 1], "us")) },
          {
            ...axis,
            size: 76,
            incrs: unit === "bytes" ? kPowersOfTwo : undefined,
            values: (_, at) => at.map((v) => formatTick(v, at[at.length - 1], unit)),
          },
        ],
        series: [
          { label: "Time", value: (_, v) => format(v, "us") },
          ...curves.map((curve) => ({
            label: curve.title,
            stroke: curve.color,
            fill: curve.filled ? curve.color + "26" : undefined,
            width: 1.5,
            points: { show: false },
            paths: stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined,
            value: (_: uPlot, v: number | null) => format(v, unit),
          })),
        ],
        cursor: { drag: { x: true, y: false, setScale: false } },
        hooks: {
          setSelect: [
            (u) => {
              if (u.select.width < 3) return;
              const [begin, end] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              latest.current.onRange?.(begin, end);
            },
          ],
          draw: [
            (u) => {
              const { mark, span } = latest.current;
              const at = (time: number) =>
                Math.min(Math.max(u.valToPos(time, "x", true), u.bbox.left), u.bbox.left + u.bbox.width);
              u.ctx.save();
              if (span) {
                const [left, right] = [
                  span[0] === null ? u.bbox.left : at(span[0]),
                  span[1] === null ? u.bbox.left + u.bbox.width : at(span[1]),
                ];
                u.ctx.globalAlpha = 0.18;
                u.ctx.fillStyle = accent;
                u.ctx.fillRect(left, u.bbox.top, Math.max(2, right - left), u.bbox.height);
                u.ctx.globalAlpha = 1;
                for (const x of [left, right]) u.ctx.fillRect(x - 0.5, u.bbox.top, 1, u.bbox.height);
              }
              if (mark !== undefined && u.scales.x.min! <= mark && mark <= u.scales.x.max!) {
                u.ctx.strokeStyle = text;
                u.ctx.setLineDash([4, 4]);
                u.ctx.beginPath();
                u.ctx.moveTo(at(mark), u.bbox.top);
                u.ctx.lineTo(at(mark), u.bbox.top + u.bbox.height);
                u.ctx.stroke();
              }
              u.ctx.restore();
            },
          ],
        },
      },
      [times, ...curves.map((curve) => curve.values)] as uPlot.AlignedData,
      root.current!,
    );
    made.over.addEventListener("contextmenu", (e) => {
      e.preventDefault();
      latest.current.onReset?.();
    });
    // A click is also what a drag ends with.
    let pressed = 0;
    made.over.addEventListener("mousedown", (e) => (pressed = e.clientX));
    made.over.addEventListener(
      "click",
      (e) => Math.abs(e.clientX - pressed) < 3 && latest.current.onClick?.(made.posToVal(e.offsetX, "x")),
    );
    plot.current = made;
    return () => made.destroy();
  }, [times, curves, unit, stepped, height, theme, dark]);

  useEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  useEffect(() => {
    if (times.length === 0) return;
    const [min, max] = range ?? [times[0], times[times.length - 1]];
    plot.current?.setScale("x", { min, max });
  }, [range?.[0], range?.[1], times, theme]);
  useEffect(() => plot.current?.redraw(false), [mark, span?.[0], span?.[1]]);

  return (
    <div ref={measure} role="img" aria-label={props.label}>
      <div ref={root} />
    </div>
  );
}
