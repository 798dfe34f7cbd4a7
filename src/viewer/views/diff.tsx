// What changed from one run to another, and whether it is more than noise.
import { documents } from "../data/documents";
import { Said } from "../figure";
import { Panel } from "../widgets";

export function diffAbsent(): string | undefined {
  return documents.diff ? undefined : "nothing to compare with (tprof report A --vs B)";
}

export function DiffView() {
  return <Panel title="Difference"><p class="story"><Said at="diff/story" text={String(documents.diff?.story)} /></p></Panel>;
}
