// Which worker and span, and which job, the page is about: #worker=N, the number in the commands' documents.
import { documents } from "./data/documents";
import type { Source } from "./data/types";
import { useParams } from "./state";

export function sources(): Source[] {
  return documents.overview.workers;
}

export function useWorker(): number {
  const { params } = useParams();
  const n = Number(params.worker ?? 0);
  return Number.isInteger(n) && n >= 0 && n < sources().length ? n : 0;
}

// The table of a word of `tprof stats` for the worker chosen, or for its job; undefined where the page has none.
export function pointerOf(word: string, worker: number): string | undefined {
  const workers = documents.stats[word]?.workers ?? [];
  if (documents.report.of_jobs.includes(word)) {
    const { run, span } = sources()[worker];
    const job = workers.findIndex((one) => one.run === run && one.span === span);
    return job < 0 ? undefined : `stats/${word}/workers/${job}`;
  }
  return worker < workers.length ? `stats/${word}/workers/${worker}` : undefined;
}

// How many rows it has, without unpacking them.
export function rowsOf(word: string, worker: number): number {
  const pointer = pointerOf(word, worker);
  if (!pointer) return 0;
  return documents.stats[word].workers[Number(pointer.split("/").pop())].n_rows;
}

// With its side, where two sides are compared: their runs may have one name.
export function runText(worker: number): string {
  const side = documents.report.sides?.[worker];
  return (side ? `${side}: ` : "") + sources()[worker].run;
}

export function workerText(source: Source): string {
  if (source.rank === undefined) return source.worker;
  return `rank ${source.rank}` + (source.node ? ` (${source.node})` : "");
}
