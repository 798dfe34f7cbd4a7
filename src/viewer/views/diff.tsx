// What changed from A to B, and whether it is more than noise: the verdict, calls beside each other, and every change.
import type { ComponentChildren } from "preact";
import { categoryColor, kCategoryNames } from "../charts/colors";
import { Swatch } from "../charts/donut";
import { at, documents, useTable } from "../data/documents";
import type { DiffDocument, DiffRow } from "../data/types";
import { Figure, Said } from "../figure";
import { texts } from "../texts";
import { Panel, useWidth } from "../widgets";
import { sources } from "../worker";
import { Calls } from "./diff_calls";
import { DiffFlames } from "./diff_flame";
import { Changes, isOfSteps } from "./diff_changes";

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
      <Changes />
      {at("diff/tree") !== undefined && <Calls />}
      <DiffFlames />
    </>
  );
}

const beyond = ({ low_us, high_us }: DiffRow) => low_us !== null && high_us !== null && (low_us > 0 || high_us < 0);

// The word above the story, and how it is coloured.
function verdictOf(found: DiffDocument): [string, string] {
  const { verdict, step, second } = found;
  const way = (row: DiffRow): [string, string] => (row.delta_us > 0 ? ["Slower", "slower"] : ["Faster", "faster"]);
  if (verdict === "changed") return way(step);
  if (isOfSteps(found) && beyond(step)) return [`${way(step)[0]} in these steps; another run may differ`, way(step)[1]];
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
        <Side side="a" name="Baseline" found={found}>
          <Figure at="diff/step/a_us" value={a_us} unit="us" />
        </Side>
        <span class="to" aria-hidden="true">
          →
        </span>
        <Side side="b" name="Experiment" found={found}>
          <Figure at="diff/step/b_us" value={b_us} unit="us" />
        </Side>
        <div class="side">
          <span class="muted">Change</span>
          <span class="big">
            <Figure at="diff/step/delta_us" value={delta_us} unit="us" />
          </span>
          <span class="muted">
            <Figure at="diff/step/change_percent" value={change_percent} unit="percent" />
          </span>
        </div>
      </div>
      <p class="story">
        <Said at="diff/story" text={found.story} />
      </p>
      <Categories />
    </Panel>
  );
}

// A step of A and one of B, as long as they are, in the colours of what filled them.
function Categories() {
  const [measure, width] = useWidth(600);
  const table = useTable("diff");
  if (!table) return null;
  const place = (row: number) => kCategoryNames.indexOf(table.text(row, "name"));
  const rows = table
    .rows()
    .filter((row) => table.value(row, "by") === "category")
    .sort((a, b) => place(a) - place(b));
  const sides: ["a_us" | "b_us", string][] = [
    ["a_us", "A"],
    ["b_us", "B"],
  ];
  const parts = sides.map(([key]) => {
    let x = 0;
    return rows.map((row) => ({ name: table.text(row, "name"), from: x, to: (x += table.number(row, key) ?? 0) }));
  });
  const longest = Math.max(...parts.map((bar) => bar[bar.length - 1]?.to ?? 0));
  if (!(longest > 0)) return null;
  const x = (us: number) => 20 + ((width - 20) * us) / longest;
  return (
    <figure class="categories" ref={measure}>
      <svg
        width={width}
        height={56}
        role="img"
        aria-label="What filled a step of A and one of B, by category; the table of changes has the figures">
        {parts.map((bar, i) => (
          <g key={sides[i][0]}>
            <text class="tick" x={0} y={28 * i + 18}>
              {sides[i][1]}
            </text>
            {bar.map((part) => (
              <rect
                x={x(part.from)}
                y={28 * i + 3}
                width={Math.max(0, x(part.to) - x(part.from) - 1)}
                height={22}
                fill={categoryColor(part.name)}
              />
            ))}
          </g>
        ))}
      </svg>
      <ul class="legend flat">
        {rows.map((row) => (
          <li>
            <Swatch color={categoryColor(table.text(row, "name"))} />
            {table.text(row, "name")}
          </li>
        ))}
      </ul>
    </figure>
  );
}

function Side({
  side,
  name,
  found,
  children,
}: {
  side: "a" | "b";
  name: string;
  found: DiffDocument;
  children: ComponentChildren;
}) {
  const runs = new Set(
    sources()
      .filter((_, i) => documents.report.sides?.[i] === side.toUpperCase())
      .map(({ run }) => run),
  );
  const plural = (n: number, word: string) => (
    <>
      <Figure at={`diff/${word}s/${side}`} value={n} unit="count" /> {word}
      {n === 1 ? "" : "s"}
    </>
  );
  return (
    <div class="side">
      <span class="muted">
        {side.toUpperCase()}, {name.toLowerCase()}
      </span>
      <span class="big">{children}</span>
      {[...runs].map((run) => (
        <span class="name" title={run} data-label>
          <bdi>{run}</bdi>
        </span>
      ))}
      <span class="muted">
        {plural(found.runs[side], "run")}, {plural(found.steps[side], "step")}
      </span>
    </div>
  );
}

function Certainty({ found }: { found: DiffDocument }) {
  const { low_us, high_us, smallest_us } = found.step;
  return (
    <Panel title="How sure this is">
      <dl>
        <dt>Compared by</dt>
        <dd>{found.sample === "runs" ? "the means of runs" : "steps of one run on a side"}</dd>
        <dt data-label title={texts.low_us}>
          The change lies (95 %) between
        </dt>
        <dd>
          <Figure at="diff/step/low_us" value={low_us} unit="us" /> and{" "}
          <Figure at="diff/step/high_us" value={high_us} unit="us" />
        </dd>
        <dt data-label title={texts.smallest_us}>
          Smallest change that would be found (80 %)
        </dt>
        <dd>
          <Figure at="diff/step/smallest_us" value={smallest_us} unit="us" />
        </dd>
      </dl>
      <ul class="remarks">
        {found.remarks.map((line, i) => (
          <li>
            <Said at={`diff/remarks/${i}`} text={line} />
          </li>
        ))}
      </ul>
      <Machine found={found} />
    </Panel>
  );
}

// What the machine did while either side was recorded.
function Machine({ found }: { found: DiffDocument }) {
  if (found.machine.length === 0)
    return <p class="muted">What the machine did meanwhile was not recorded: only traces of tprof run hold it.</p>;
  return (
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">The machine, means over runs</th>
          <th scope="col" class="number">
            A
          </th>
          <th scope="col" class="number">
            B
          </th>
          <th
            scope="col"
            class="number"
            title="Whether all runs of one side lie above all of the other's, by more than chance">
            Apart
          </th>
        </tr>
      </thead>
      <tbody>
        {found.machine.map((one, i) => (
          <tr class={one.apart ? "apart" : undefined}>
            <th scope="row">
              <Said at={`diff/machine/${i}/title`} text={one.title} />
            </th>
            <td class="number">
              <Figure at={`diff/machine/${i}/a`} value={one.a} unit="number" />
            </td>
            <td class="number">
              <Figure at={`diff/machine/${i}/b`} value={one.b} unit="number" />
            </td>
            <td class="number">
              <Figure at={`diff/machine/${i}/apart`} value={one.apart} unit="yes/no" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
