// Menus of a served page for all runs, workers and spans of the directory; each choice is another page.
import { useEffect, useState } from "preact/hooks";
import { asked, loadRuns, type ServedRun } from "./data/served";
import { withoutWorker } from "./state";
import { Select } from "./widgets";

const kLook_ms = 5000; // between two looks for what is new

export function ServedMenus() {
  const { runs, gone } = useRuns();
  const run = runs.find((one) => one.run === asked("run"));
  const worker = run?.workers.find((one) => one.worker === asked("worker"));
  const span = asked("span");
  // Without what belongs to one page only.
  const open = (address: string) => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(withoutWorker())) kept.delete(name);
    location.assign(`page?${address}#${kept}`);
  };
  const openRun = (to: ServedRun) => openWorker(to, to.workers[0]);
  const openWorker = (of: ServedRun, to: ServedRun["workers"][0]) =>
    open(`run=${of.run}&worker=${to.worker}&span=${span && to.spans.includes(span) ? span : to.spans[0]}`);
  return (
    <>
      <a href="./">All runs</a>
      {gone && <span role="status">The server has ended; only what was opened before can be shown.</span>}
      {run && (
        <Select
          label="Run"
          value={run.run}
          options={runs.map((one): [string, string] => [one.run, one.name])}
          onChange={(to) => openRun(runs.find((one) => one.run === to)!)}
        />
      )}
      {run && worker && run.workers.length > 1 && (
        <Select
          label="Worker"
          value={worker.worker}
          options={run.workers.map((one): [string, string] => [one.worker, one.name])}
          onChange={(to) =>
            openWorker(
              run,
              run.workers.find((one) => one.worker === to)!,
            )
          }
        />
      )}
      {run && worker && span && worker.spans.length > 1 && (
        <Select
          label="Span"
          value={span}
          options={worker.spans.map((one): [string, string] => [one, one])}
          onChange={(to) => open(`run=${run.run}&worker=${worker.worker}&span=${to}`)}
        />
      )}
    </>
  );
}

function useRuns(): { runs: ServedRun[]; gone: boolean } {
  const [known, set] = useState<{ runs: ServedRun[]; gone: boolean }>({ runs: [], gone: false });
  useEffect(() => {
    const look = () =>
      document.visibilityState === "visible" &&
      loadRuns().then(
        (runs) => set({ runs, gone: false }),
        () => set(({ runs }) => ({ runs, gone: true })),
      );
    look();
    const timer = setInterval(look, kLook_ms);
    return () => clearInterval(timer);
  }, []);
  return known;
}
