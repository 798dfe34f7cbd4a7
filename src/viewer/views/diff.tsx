// What changed from A to B, and whether it is more than noise: the verdict, calls beside each other, and every change.
import type { ComponentChildren } from "preact";
import { at, documents } from "../data/documents";
import type { DiffDocument, DiffRow } from "../data/types";
import { Figure, Said } from "../figure";
import { Panel } from "../widgets";
import { Calls } from "./diff_calls";
import { Changes } from "./diff_changes";

export function diffAbsent(): string | undefined {
  return documents.diff ? undefined : "nothing to compare with (tprof report A --vs B)";
}

export function DiffView() {
  const found = documents.diff!;
  return (
    <>
      <div class="verdict">
        <Verdict found={found} />
        <Certainty found={found} />
      </div>
      {at("diff/tree") !== undefined && <Calls />}
      <Changes />
    </>
  );
}

// The word above the story, and how it is coloured.
function verdictOf({ verdict, step, second }: DiffDocument): [string, string] {
  const way = (row: DiffRow): [string, string] => (row.delta_us > 0 ? ["Slower", "slower"] : ["Faster", "faster"]);
  if (verdict === "changed") return way(step);
  if (verdict === "second_changed" && second) return [`${way(second)[0]}, but not on average`, way(second)[1]];
  if (verdict === "noise") return ["No more than noise", "even"];
  return ["Not known whether it is more than noise", "even"];
}

function Verdict({ found }: { found: DiffDocument }) {
  const [word, kind] = verdictOf(found);
  const { a_us, b_us, delta_us, change_percent } = found.step;
  return (
    <Panel title="Step time">
      <p class={`tag ${kind}`}>{word}</p>
      <div class="sides">
        <Side side="a" name="Baseline" found={found}><Figure at="diff/step/a_us" value={a_us} unit="us" /></Side>
        <span class="to" aria-hidden="true">→</span>
        <Side side="b" name="Experiment" found={found}><Figure at="diff/step/b_us" value={b_us} unit="us" /></Side>
        <div class="side">
          <span class="muted">Change</span>
          <span class="big"><Figure at="diff/step/delta_us" value={delta_us} unit="us" /></span>
          <span class="muted"><Figure at="diff/step/change_percent" value={change_percent} unit="percent" /></span>
        </div>
      </div>
      <p class="story"><Said at="diff/story" text={found.story} /></p>
    </Panel>
  );
}

function Side({ side, name, found, children }: {
  side: "a" | "b"; name: string; found: DiffDocument; children: ComponentChildren;
}) {
  const paths = documents.report.sides?.[side] ?? [];
  const short = paths.map((path) => path.replace(/\/+$/, "").split("/").pop()).join(", ");
  const plural = (n: number, word: string) => <><Figure at={`diff/${word}s/${side}`} value={n} unit="count" /> {word}{n === 1 ? "" : "s"}</>;
  return (
    <div class="side">
      <span class="muted">{side.toUpperCase()}, {name.toLowerCase()}</span>
      <span class="big">{children}</span>
      <span class="path" title={paths.join("\n")} data-label><bdi>{short}</bdi></span>
      <span class="muted">{plural(found.runs[side], "run")}, {plural(found.steps[side], "step")}</span>
    </div>
  );
}

function Certainty({ found }: { found: DiffDocument }) {
  const { low_us, high_us, smallest_us } = found.step;
  return (
    <Panel title="How sure this is">
      <dl>
        <dt>Compared by</dt><dd>{found.sample === "runs" ? "runs: how far they lie apart is the noise" : "steps: runs of one side are not known to differ"}</dd>
        <dt>The change lies, with 95 % certainty, between</dt>
        <dd><Figure at="diff/step/low_us" value={low_us} unit="us" /> and <Figure at="diff/step/high_us" value={high_us} unit="us" /></dd>
        <dt>A change is found in four of five such comparisons from</dt><dd><Figure at="diff/step/smallest_us" value={smallest_us} unit="us" /></dd>
      </dl>
      <ul class="remarks">{found.remarks.map((line, i) => <li><Said at={`diff/remarks/${i}`} text={line} /></li>)}</ul>
      <Machine found={found} />
    </Panel>
  );
}

// What the machine did while either side was recorded.
function Machine({ found }: { found: DiffDocument }) {
  if (found.machine.length === 0)
    return <p class="muted">What the machine did meanwhile was not recorded: traces of tprof run say it, others do not.</p>;
  return (
    <table class="plain">
      <thead><tr><th scope="col">The machine, means over runs</th><th scope="col" class="number">A</th><th scope="col" class="number">B</th><th scope="col">Apart</th></tr></thead>
      <tbody>
        {found.machine.map((one, i) => (
          <tr class={one.apart ? "apart" : undefined}>
            <th scope="row"><Said at={`diff/machine/${i}/title`} text={one.title} /></th>
            <td class="number"><Figure at={`diff/machine/${i}/a`} value={one.a} unit="number" /></td>
            <td class="number"><Figure at={`diff/machine/${i}/b`} value={one.b} unit="number" /></td>
            <td><Figure at={`diff/machine/${i}/apart`} value={one.apart} unit="yes/no" /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
