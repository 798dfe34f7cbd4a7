// Memory by operator.
import { rowsOf } from "../worker";
import { WordTable } from "./words";

export function memoryAbsent(worker: number): string | undefined {
  return rowsOf("memory", worker) > 0 ? undefined : "no memory was recorded (tprof-run --profile-memory)";
}

export function Memory({ worker }: { worker: number }) {
  return (
    <>
      <WordTable word="memory" title="Memory by operator" worker={worker} />
      <WordTable word="peak" title="At the peak" worker={worker} empty="Who owned what at the peak is not known." />
    </>
  );
}
