// What was run, where the time of a step went, and what to change.
import { categoryColor } from "../charts/colors";
import { Donut, Swatch } from "../charts/donut";
import { documents } from "../data/documents";
import type { OverviewWorker } from "../data/types";
import { Figure, Said } from "../figure";
import { Panel } from "../widgets";
import { RanksAndSteps } from "./distributed_steps";
import { AdviceList } from "./overview_advice";
import { Summary } from "./overview_run";
import { Steps } from "./overview_steps";

export function Overview({ worker }: { worker: number }) {
  const found = documents.overview.workers[worker];
  return (
    <>
      <Losses worker={worker} />
      <div class="overview">
        <Summary found={found} at={`overview/workers/${worker}`} />
        <Execution found={found} at={`overview/workers/${worker}`} />
        <Steps worker={worker} />
        <AdviceList worker={worker} />
      </div>
      <RanksAndSteps worker={worker} />
    </>
  );
}

// What was lost, repaired or left out; and who waits for whom.
function Losses({ worker }: { worker: number }) {
  const { run, span, notes } = documents.overview.workers[worker];
  const jobs = documents.advise.stragglers ?? [];
  const job = jobs.findIndex((one) => one.run === run && one.span === span);
  const waiting = (["lines", "doubts"] as const).flatMap((key) =>
    job < 0 ? [] : jobs[job][key].map((line, i) => ({ line, at: `advise/stragglers/${job}/${key}/${i}` })),
  );
  return (
    <>
      {notes.length > 0 && (
        <div class="banner" role="note">
          {notes.map((note, i) => (
            <p>
              <Said at={`overview/workers/${worker}/notes/${i}`} text={note} />
            </p>
          ))}
        </div>
      )}
      {waiting.length > 0 && (
        <div class="banner" role="note">
          {waiting.map(({ line, at }) => (
            <p>
              <Said at={at} text={line} />
            </p>
          ))}
        </div>
      )}
    </>
  );
}

function Execution({ found, at }: { found: OverviewWorker; at: string }) {
  const parts = found.execution_summary;
  const slices = parts.map((part, i) => ({
    name: part.category,
    value: part.us ?? 0,
    color: categoryColor(part.category),
    figure: <Figure at={`${at}/execution_summary/${i}/us`} value={part.us} unit="us" />,
  }));
  if (parts.length === 0)
    return (
      <Panel title="Execution summary">
        <p class="empty">No steps: the time of a step is not known.</p>
      </Panel>
    );
  return (
    <Panel title="Execution summary">
      <div class="execution">
        <Donut title="An average step" unit="us" slices={slices} legend={false} />
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Category</th>
              <th scope="col" class="number">
                Time
              </th>
              <th scope="col" class="number">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part, i) => (
              <tr>
                <th scope="row">
                  <Swatch color={categoryColor(part.category)} />
                  {part.category}
                </th>
                <td class="number">
                  <Figure at={`${at}/execution_summary/${i}/us`} value={part.us} unit="us" />
                </td>
                <td class="number">
                  <Figure at={`${at}/execution_summary/${i}/percent`} value={part.percent} unit="percent" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
