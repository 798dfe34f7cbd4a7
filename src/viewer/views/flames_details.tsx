// What is said of a context: beside its bar, and below the graph where it was chosen, with what one may do with it.
import { Derived } from "../figure";
import { ruleOf } from "../flame/choice";
import type { Contexts } from "../flame/contexts";
import { kFrameKinds, searchName, type Frame } from "../flame/frame";
import { libraryKey } from "../flame/from_table";
import { moduleOfCall } from "../modules";
import { useParams } from "../state";
import { SourceLine } from "../table/frames";
import type { Shared } from "./flames_controls";
import type { Shape } from "./flames_graph";
import { views } from "./views";

interface Of extends Shared {
  shown: Contexts;
  shape: Shape;
  row: number;
}

// Figures of a context: its own and all of each cost, and their shares.
function Figures({ table, contexts, costs, cost, chosen, shown, shape, row, all }: Of & { all: boolean }) {
  const path = shown.path(row).map(({ key }) => key);
  const rule = (key: string, what: string) =>
    ruleOf(table.at, chosen, key, { shape, path, what, ...(shape.startsWith("call") ? { of: chosen.of } : {}) });
  const selfKnown = shape === "path" || shape === "callees";
  const listed = costs.filter(
    (key, i) =>
      key === cost || (all && (key === "calls" ? (selfKnown ? shown.self[i][row] : 0) : shown.total[i][row]) !== 0),
  );
  return (
    <table class="plain">
      <thead>
        <tr>
          <td />
          <th scope="col" class="number">
            Total
          </th>
          <th scope="col" class="number">
            Share
          </th>
          {selfKnown && (
            <th scope="col" class="number">
              Self
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {listed.map((key) => {
          const i = costs.indexOf(key);
          const { title, unit } = table.columns.find((column) => column.key === key)!;
          const whole = contexts.total[i][0];
          return (
            <tr key={key}>
              <th scope="row">{title}</th>
              <td class="number">
                {key !== "calls" && <Derived rule={rule(key, "total")} value={shown.total[i][row]} unit={unit} />}
              </td>
              <td class="number">
                {key !== "calls" && whole > 0 && (
                  <Derived rule={rule(key, "share")} value={(100 * shown.total[i][row]) / whole} unit="percent" />
                )}
              </td>
              {selfKnown && (
                <td class="number">
                  <Derived rule={rule(key, "self")} value={shown.self[i][row]} unit={unit} />
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

// What it is, and whose.
function Kind({ frame }: { frame: Frame }) {
  const owned = ["python", "native", "op"].includes(frame.kind);
  return (
    <>
      {kFrameKinds[frame.kind] ?? frame.kind}
      {owned && (
        <>
          {" "}
          of <bdi>{frame.library}</bdi>
        </>
      )}
    </>
  );
}

export function Tip(of: Of) {
  const frame = of.shown.frames[of.shown.frame[of.row]] as Frame | undefined;
  return (
    <>
      <b>
        <bdi>{frame ? frame.name.slice(0, 600) : "All contexts"}</bdi>
      </b>
      {frame && (
        <p class="muted" data-label>
          <Kind frame={frame} />
        </p>
      )}
      <Figures {...of} all={false} />
    </>
  );
}

export function Chosen({ zoom, ...of }: Of & { zoom: number }) {
  const { chosen, set, shown, row } = of;
  const frame = row > 0 ? shown.frames[shown.frame[row]] : undefined;
  if (!frame)
    return (
      <p class="notes" data-label>
        A click chooses a bar, a double click or Enter makes it as wide as the graph, Escape goes back.
        {zoom > 0 && (
          <>
            {" "}
            <button type="button" onClick={() => set({ zoom: -1 })}>
              Whole graph
            </button>
          </>
        )}
      </p>
    );
  const add = (name: "hidden" | "without", key: string) => set({ [name]: [...chosen[name], key] });
  const fixed = frame.kind === "left_out" || frame.kind === "outside";
  return (
    <section class="flame-chosen" aria-label="Chosen context">
      <header>
        <h3 data-label>
          <SourceLine frame={frame.name} />
        </h3>
        <p class="muted" data-label>
          <Kind frame={frame} />
        </p>
      </header>
      <div class="flame-chosen-body">
        <Figures {...of} all />
        <div class="choices" role="group" aria-label="What to do with it">
          <button type="button" onClick={() => set({ zoom: zoom === row ? -1 : row })}>
            {zoom === row ? "Whole graph" : "Zoom in"}
          </button>
          <button type="button" onClick={() => set({ order: "sandwich", of: frame.key })}>
            Callers and callees
          </button>
          {!fixed && (
            <>
              <button
                type="button"
                title="Take it out of all stacks: its time is that of its callers"
                onClick={() => add("hidden", frame.key)}>
                Hide
              </button>
              <button
                type="button"
                title={`Take all of ${frame.library} out of all stacks: its time is that of its callers`}
                onClick={() => add("hidden", libraryKey(frame))}>
                Hide all of <bdi>{frame.library}</bdi>
              </button>
              <button
                type="button"
                title="Leave out all stacks with it, and their time"
                onClick={() => add("without", frame.key)}>
                Leave out
              </button>
            </>
          )}
          <Links frame={frame} />
        </div>
      </div>
    </section>
  );
}

// Where else it can be found.
function Links({ frame }: { frame: Frame }) {
  const { href } = useParams();
  const name = searchName(frame);
  const q = `"${moduleOfCall(name)}"`;
  const places: [string, string, Record<string, string>][] = [
    ["op", "operators", {}],
    ["label", "operators", {}],
    ["kernel", "kernels", {}],
    ["module", "modules", { show: "module" }],
    ["python", "modules", { show: "python" }],
  ];
  const place = places.find(([kind]) => kind === frame.kind);
  const has = (view: string) => views.some((one) => one.name === view);
  return (
    <>
      {place && (
        <a href={href({ view: place[1], ...place[2], q }, false)} data-label>
          Show in {views.find((one) => one.name === place[1])!.title}
        </a>
      )}
      {has("timeline") && <a href={href({ view: "timeline", q: name }, false)}>Show in the timeline</a>}
    </>
  );
}
