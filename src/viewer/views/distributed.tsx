// Collectives over all ranks of a job.
import { rowsOf } from "../worker";
import { WordTable } from "./words";

export function distributedAbsent(worker: number): string | undefined {
  return rowsOf("comm", worker) > 0 ? undefined : "no collective communication in these traces";
}

export function Distributed({ worker }: { worker: number }) {
  return (
    <>
      <WordTable word="comm" part="ranks" title="Ranks" worker={worker} />
      <WordTable word="comm" title="Collectives" worker={worker} />
    </>
  );
}
