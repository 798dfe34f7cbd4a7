// Around the views: which run, worker and span, the tabs, colours, help.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { documents } from "./data/documents";
import { partsAddress } from "./data/served";
import { Said } from "./figure";
import { ServedMenus } from "./served";
import { StateContext, useAddress, useParams, withoutWorker } from "./state";
import { kEditors } from "./table/frames";
import { kTimelineKeys, kTimelinePointer } from "./timeline/keys";
import { views } from "./views/views";
import { Select } from "./widgets";
import { runText, sources, useWorker, workerText } from "./worker";

export function App() {
  const state = useAddress();
  return (
    <StateContext.Provider value={state}>
      <Shell />
    </StateContext.Provider>
  );
}

const kThemes: [string, string][] = [
  ["", "as the system"],
  ["light", "light"],
  ["dark", "dark"],
];

function Shell() {
  const { params, set, href } = useParams();
  const worker = useWorker();
  const help = useRef<HTMLDialogElement>(null);
  const chosen = views.find((view) => view.name === params.view) ?? views[0];
  const absent = chosen.absent?.(worker);

  // Before the effects of charts, which read the colours.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = params.theme ?? "";
  }, [params.theme]);
  useEffect(() => {
    document.title = `${chosen.title}, ${sources()[worker].run}: tprof`;
  }, [chosen, worker]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target as Element).matches("input, select, textarea")) return;
      const tab = views[Number(e.key) - 1];
      if (tab && !tab.absent?.(worker)) set({ view: tab.name }, false);
      else if (e.key === "?") help.current?.showModal();
      else if (e.key === "/") focusSearch();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [worker]);

  return (
    <>
      <header class="shell">
        <a class="mark" href={href({ view: "overview" }, false)}>
          tprof
        </a>
        {partsAddress !== undefined && <ServedMenus />}
        {chosen.name === "diff" ? <Sides /> : <Selectors worker={worker} />}
        <span class="gap" />
        <div class="page-controls">
          <Select label="Colours" value={params.theme ?? ""} options={kThemes} onChange={(theme) => set({ theme })} />
          <button
            type="button"
            class="round"
            aria-label="Help"
            title="Help (?)"
            onClick={() => help.current?.showModal()}>
            ?
          </button>
        </div>
      </header>
      <nav class="tabs" role="tablist" aria-label="Views">
        {views.map((view, i) => {
          const why = view.absent?.(worker);
          return why ? (
            <a
              key={view.name}
              class="tab"
              role="tab"
              aria-disabled="true"
              aria-selected={false}
              title={`${view.title}: ${why}`}>
              {view.title}
            </a>
          ) : (
            <a
              key={view.name}
              class="tab"
              href={href({ view: view.name }, false)}
              role="tab"
              aria-selected={view === chosen}
              title={`${view.title} (${i + 1})`}>
              {view.title}
            </a>
          );
        })}
      </nav>
      <main>
        {documents.report.left_out.length > 0 && (
          <div class="banner" role="note">
            {documents.report.left_out.map((line, i) => (
              <p>
                <Said at={`report/left_out/${i}`} text={line} />
              </p>
            ))}
          </div>
        )}
        <div role="tabpanel" class="view" aria-label={chosen.title}>
          {absent ? (
            <p class="empty">
              {chosen.title}: {absent}.
            </p>
          ) : (
            <chosen.component key={`${chosen.name} ${worker}`} worker={worker} />
          )}
        </div>
      </main>
      <footer data-label>
        Written by tprof {documents.report.tprof}.{" "}
        {partsAddress === undefined
          ? "All of it is in this file; nothing is loaded from anywhere."
          : "Served by tprof view; nothing is loaded from anywhere else."}
      </footer>
      <Help dialog={help} />
    </>
  );
}

// The view may just be opening: its table is waited for.
function focusSearch(tries = 40) {
  const search = document.querySelector<HTMLElement>("main .search");
  if (search) search.focus();
  else if (tries > 0 && document.querySelector("main [aria-busy]")) setTimeout(() => focusSearch(tries - 1), 50);
}

// The diff is of all runs, workers and spans.
function Sides() {
  const of = (side: string) =>
    [
      ...new Set(
        sources()
          .filter((_, i) => documents.report.sides?.[i] === side)
          .map(({ run }) => run),
      ),
    ].join(", ");
  return (
    <span class="run" data-label>
      <bdi>{of("A")}</bdi> → <bdi>{of("B")}</bdi>
    </span>
  );
}

// Menus for run, worker and span; one with a single choice is not shown.
function Selectors({ worker }: { worker: number }) {
  const { set } = useParams();
  const all = sources().map((source, i) => ({ ...source, run: runText(i), i }));
  const now = all[worker];
  const unique = (list: typeof all, name: (one: (typeof all)[0]) => string): [string, string][] => {
    const seen = new Map<string, string>();
    for (const one of list) if (!seen.has(name(one))) seen.set(name(one), String(one.i));
    return [...seen].map(([text, i]) => [i, text]);
  };
  const inRun = all.filter((one) => one.run === now.run);
  const ofWorker = inRun.filter((one) => one.worker === now.worker);
  const levels: [string, [string, string][], string][] = [
    ["Run", unique(all, (one) => one.run), now.run],
    ["Worker", unique(inRun, workerText), workerText(now)],
    ["Span", unique(ofWorker, (one) => one.span), now.span],
  ];
  return (
    <>
      {levels
        .filter(([, options]) => options.length > 1)
        .map(([label, options, text]) => (
          <Select
            key={label}
            label={label}
            options={options}
            value={options.find((option) => option[1] === text)?.[0] ?? ""}
            onChange={(i) => set({ ...withoutWorker(), worker: i === "0" ? "" : i })}
          />
        ))}
      {levels[0][1].length === 1 && partsAddress === undefined && (
        <span class="run" title="Run">
          <bdi>{now.run}</bdi>
        </span>
      )}
    </>
  );
}

type Key = [string, string]; // and what it does

const kKeys = (): Key[] => [
  [`1 to ${views.length}`, "go to a tab"],
  ["/", "search in the table, or in the timeline"],
  ["?", "this help"],
  ["Tab, Enter", "go through the page and choose"],
  ["arrows", "in a chart: from step to step; in a table: scroll"],
];

function KeyList({ keys }: { keys: Key[] }) {
  return (
    <dl>
      {keys.map(([key, what]) => (
        <>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </>
      ))}
    </dl>
  );
}

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  const { params, set } = useParams();
  const licences = (document.getElementById("licences") as HTMLTemplateElement | null)?.content.textContent ?? "";
  return (
    <dialog ref={dialog} class="help" aria-label="Help">
      <header>
        <h2>Help</h2>
        <button type="button" class="round" aria-label="Close" onClick={() => dialog.current?.close()}>
          ×
        </button>
      </header>
      <h3>Keys</h3>
      <KeyList keys={kKeys()} />
      <h3>Keys of the timeline</h3>
      <KeyList
        keys={[
          ...kTimelineKeys.filter(({ shown }) => shown).map((one): Key => [one.shown, one.what]),
          ...kTimelinePointer,
        ]}
      />
      <h3>Reading the page</h3>
      <p>
        Point at the title of a column for what it means, at a number for its exact value. A dash is a figure that is
        not known. The address holds what you chose (not which rows are open): copy it to show someone what you see.
        Host and CPU mean the same here, and so do device, GPU and CUDA: the words are those of torch.profiler. Print
        shows up to 1,000 rows of each table.
      </p>
      <p>
        In a search all words must be found; <code>calls&gt;100</code>, <code>selfcpu&gt;5ms</code> compare a column,
        named by its title without blanks.
      </p>
      <Select
        label="Source lines open in"
        value={params.editor ?? "vscode"}
        options={Object.entries(kEditors).map(([key, one]) => [key, one.title])}
        onChange={(editor) => set({ editor: editor === "vscode" ? "" : editor })}
      />
      <details>
        <summary>Licences of what is in this page</summary>
        <pre>{licences}</pre>
      </details>
    </dialog>
  );
}
