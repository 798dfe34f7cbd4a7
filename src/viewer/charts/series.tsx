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
}

interface Props {
  label: string;
  times: number[];  // us, ascending
  curves: Curve[];
  unit: string;  // of the values
  stepped?: boolean;  // a value holds until the next one
  height?: number;
  mark?: number;  // a time that is marked
  range?: [number, number];  // that is shown
  onRange?: (begin: number, end: number) => void;
  onReset?: () => void;
  onClick?: (time: number) => void;
}

export function Series(props: Props) {
  const { times, curves, unit, stepped, height = 240, mark, range } = props;
  const [measure, width] = useWidth(800);
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { theme } = useParams().params;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;

  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const [muted, line] = [style.getPropertyValue("--muted"), style.getPropertyValue("--line")];
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const made = new uPlot({
      width, height,
      scales: { x: { time: false } },
      axes: [
        { ...axis, values: (_, at) => at.map((v) => formatTick(v, at[at.length - 1], "us")) },
        { ...axis, size: 76, values: (_, at) => at.map((v) => formatTick(v, at[at.length - 1], unit)) },
      ],
      series: [
        { label: "Time", value: (_, v) => format(v, "us") },
        ...curves.map((curve) => ({
          label: curve.title, stroke: curve.color, width: 1.5, points: { show: false },
          paths: stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined,
          value: (_: uPlot, v: number | null) => format(v, unit),
        })),
      ],
      cursor: { drag: { x: true, y: false, setScale: false } },
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 3) return;
          const [begin, end] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.onRange?.(begin, end);
        }],
        draw: [(u) => {
          const at = latest.current.mark;
          if (at === undefined) return;
          const x = u.valToPos(at, "x", true);
          u.ctx.save();
          u.ctx.strokeStyle = muted;
          u.ctx.setLineDash([4, 4]);
          u.ctx.beginPath();
          u.ctx.moveTo(x, u.bbox.top);
          u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
          u.ctx.stroke();
          u.ctx.restore();
        }],
      },
    }, [times, ...curves.map((curve) => curve.values)] as uPlot.AlignedData, root.current!);
    made.over.addEventListener("contextmenu", (e) => {
      e.preventDefault();
      latest.current.onReset?.();
    });
    made.over.addEventListener("click", (e) => latest.current.onClick?.(made.posToVal(e.offsetX, "x")));
    plot.current = made;
    return () => made.destroy();
  }, [times, curves, unit, stepped, height, theme, dark]);

  useEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  useEffect(() => {
    if (times.length === 0) return;
    const [min, max] = range ?? [times[0], times[times.length - 1]];
    plot.current?.setScale("x", { min, max });
  }, [range?.[0], range?.[1], times]);
  useEffect(() => plot.current?.redraw(false), [mark]);

  return <div ref={measure} role="img" aria-label={props.label}><div ref={root} /></div>;
}
