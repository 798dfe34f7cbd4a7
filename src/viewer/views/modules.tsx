// nn.Modules, forward and backward.
import { rowsOf } from "../worker";
import { WordTable } from "./words";

export function modulesAbsent(worker: number): string | undefined {
  return rowsOf("module", worker) > 0 ? undefined : "no nn.Modules were recorded (tprof-run --with-modules)";
}

export function Modules({ worker }: { worker: number }) {
  return <WordTable word="module" title="Modules" worker={worker} />;
}
