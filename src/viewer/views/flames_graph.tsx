// The graph itself: of all contexts, turned over, or the callers and callees of one function; what is searched in it,
// and the context that one has chosen.
import { useMemo } from "preact/hooks";
import { colorOf, kGrey } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { Flame } from "../charts/flame";
import type { Look } from "../charts/flame_paint";
import { Derived } from "../figure";
import { type Chosen, ruleOf } from "../flame/choice";
import type { Contexts } from "../flame/contexts";
import { kFrameKinds } from "../flame/frame";
import { leftHeavy } from "../flame/layout";
import type { Shared } from "./flames_controls";
import { Chosen as ChosenContext, Tip } from "./flames_details";

const kColors = 9; // that are told apart; the rest is grey

export type Shape = "path" | "inverted" | "callers" | "callees"; // of contexts, as rules say it

export function Graph(shared: Shared) {
  const { contexts, chosen, set } = shared;
  const colors = useMemo(() => colorsOf(shared), [contexts, shared.cost, chosen.colors]);
  const matches = useMemo(() => matchesOf(contexts, chosen.find), [contexts, chosen.find]);
  const of = contexts.frames.findIndex(({ key }) => key === chosen.of);
  const turned = useMemo(
    () => (chosen.order === "inverted" ? contexts.inverted() : contexts),
    [contexts, chosen.order],
  );
  const sides = useMemo(
    () => (chosen.order === "sandwich" && of >= 0 ? [contexts.callers(of), contexts.callees(of)] : undefined),
    [contexts, chosen.order, of],
  );
  const common = { ...shared, colors: colors.of, matches };
  const inverted = chosen.order === "inverted";
  return (
    <>
      <div class="tools flame-tools">
        <input
          type="search"
          class="search"
          aria-label="Search in the flame graph"
          placeholder="Search: functions, files, libraries"
          value={chosen.find}
          onInput={(e) => set({ find: e.currentTarget.value })}
        />
        {matches && <Matched {...shared} matches={matches} />}
        <Legend {...shared} names={colors.names} />
      </div>
      {chosen.order === "sandwich" && !sides && (
        <p class="empty">Choose a function in the table below, to see what called it and what it called.</p>
      )}
      {sides ? (
        <>
          <h3>Callers</h3>
          <Picture {...common} shown={sides[0]} shape="callers" flipped />
          <h3>Callees</h3>
          <Picture {...common} shown={sides[1]} shape="callees" />
        </>
      ) : (
        chosen.order !== "sandwich" && (
          <Picture {...common} shown={turned} shape={inverted ? "inverted" : "path"} zoomable />
        )
      )}
    </>
  );
}

function Picture({
  shown,
  shape,
  colors,
  matches,
  flipped,
  zoomable,
  ...shared
}: Shared & {
  shown: Contexts;
  shape: Shape;
  colors: (frame: number) => string;
  matches?: boolean[];
  flipped?: boolean;
  zoomable?: boolean;
}) {
  const { costs, cost, chosen, set } = shared;
  const number = costs.indexOf(cost);
  const bars = useMemo(() => leftHeavy(shown.parent, shown.total[number]), [shown, number]);
  const look = useMemo(
    (): Look => ({
      name: (row) => shown.frames[shown.frame[row]]?.label ?? "all",
      color: (row) => (shown.frame[row] < 0 ? kGrey : colors(shown.frame[row])),
      strength: matches && ((row) => (matches[shown.frame[row]] ? 0.75 : 0.42)),
      faint: matches && ((row) => !matches[shown.frame[row]]),
    }),
    [shown, colors, matches],
  );
  const known = (row: number) => (row < shown.n ? row : -1);
  const zoom = zoomable ? known(chosen.zoom) : -1;
  const picked = zoomable ? known(chosen.at) : -1;
  return (
    <>
      <Flame
        label={`Flame graph, ${shape === "path" ? "callers above what they call" : shape}`}
        bars={bars}
        look={look}
        flipped={flipped}
        zoomed={zoom}
        picked={picked}
        onZoom={(row) => zoomable && set({ zoom: row <= 0 ? -1 : row })}
        onPick={(row) => (zoomable ? set({ at: row }) : row > 0 && set({ of: shown.frames[shown.frame[row]].key }))}
        details={(row) => <Tip {...shared} shown={shown} shape={shape} row={row} />}
        empty="Nothing of this was recorded here, or all of it is left out."
      />
      {zoomable && <ChosenContext {...shared} shown={shown} shape={shape} row={picked} zoom={zoom} />}
    </>
  );
}

function Matched({ table, contexts, costs, cost, chosen, matches }: Shared & { matches: boolean[] }) {
  const number = costs.indexOf(cost);
  const all = contexts.total[number][0];
  const sum = contexts.matched(matches, number);
  const unit = table.columns.find(({ key }) => key === cost)!.unit;
  const rule = (share: boolean) => ruleOf(table.at, chosen, cost, { matched: chosen.find, share });
  return (
    <span class="count" role="status">
      matched <Derived rule={rule(false)} value={sum} unit={unit} />
      {all > 0 && (
        <>
          , <Derived rule={rule(true)} value={(100 * sum) / all} unit="percent" />
        </>
      )}
    </span>
  );
}

export function matchesOf({ frames }: Contexts, find: string): boolean[] | undefined {
  const wanted = find.trim().toLowerCase();
  if (wanted === "") return undefined;
  return frames.map(({ name, library }) => `${name}\n${library}`.toLowerCase().includes(wanted));
}

// Libraries, or kinds, in the order of their own costs: those with most have colours.
function colorsOf({ contexts, costs, cost, chosen }: Shared) {
  const number = costs.indexOf(cost);
  const nameOf = (frame: number) =>
    chosen.colors === "kind"
      ? (kFrameKinds[contexts.frames[frame].kind] ?? contexts.frames[frame].kind)
      : contexts.frames[frame].library;
  const sums = new Map<string, number>();
  for (let i = 1; i < contexts.n; i++) {
    const name = nameOf(contexts.frame[i]);
    sums.set(name, (sums.get(name) ?? 0) + contexts.self[number][i] + 1e-3 * contexts.total[number][i]);
  }
  const order = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
  const grey = new Set(["outside", "left out", kFrameKinds.outside, kFrameKinds.left_out]);
  const named = order.map(([name]) => name).filter((name) => !grey.has(name));
  const names = new Map(named.slice(0, kColors).map((name, i) => [name, colorOf(i)]));
  if (order.length > names.size) names.set("other", kGrey);
  const byFrame = contexts.frames.map((_, frame) => names.get(nameOf(frame)) ?? kGrey);
  return { of: (frame: number) => byFrame[frame], names };
}

function Legend({ chosen, set, names }: Shared & { names: Map<string, string> }) {
  const other: Chosen["colors"] = chosen.colors === "kind" ? "library" : "kind";
  return (
    <>
      <ul class="legend flat" aria-label={`Colours by ${chosen.colors}`}>
        {[...names].map(([name, color]) => (
          <li key={name}>
            <Swatch color={color} />
            <bdi class="name">{name}</bdi>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => set({ colors: other })}>
        Colour by {other}
      </button>
    </>
  );
}
