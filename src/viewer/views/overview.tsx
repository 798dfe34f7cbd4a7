// What was run, where the time of a step went, and what to change.
import { useState } from "preact/hooks";
import { StackedBars } from "../charts/bars";
import { categoryColor } from "../charts/colors";
import { Donut, Swatch } from "../charts/donut";
import { documents, useTable, type Table } from "../data/documents";
import type { Json, OverviewWorker, Recommendation, Stretches } from "../data/types";
import { Derived, Figure, Said } from "../figure";
import { useParams } from "../state";
import { DataTable } from "../table/table";
import { Panel, Switch } from "../widgets";

export function Overview({ worker }: { worker: number }) {
  const found = documents.overview.workers[worker];
  return (
    <>
      <Losses worker={worker} />
      <div class="overview">
        <Summary found={found} at={`overview/workers/${worker}`} />
        <Execution found={found} at={`overview/workers/${worker}`} />
        <AdviceList worker={worker} />
      </div>
      <Steps worker={worker} />
    </>
  );
}

// What was lost, repaired or left out; and who waits for whom.
function Losses({ worker }: { worker: number }) {
  const { run, span, notes } = documents.overview.workers[worker];
  const jobs = documents.advise.stragglers ?? [];
  const job = jobs.findIndex((one) => one.run === run && one.span === span);
  const waiting = job < 0 ? [] : jobs[job].lines;
  return (
    <>
      {notes.length > 0 && <div class="banner" role="note">{notes.map((note, i) => <p><Said at={`overview/workers/${worker}/notes/${i}`} text={note} /></p>)}</div>}
      {waiting.length > 0 && <div class="banner" role="note">{waiting.map((line, i) => <p><Said at={`advise/stragglers/${job}/lines/${i}`} text={line} /></p>)}</div>}
    </>
  );
}

// Titles and units of overview's "gpus", as the plugin names them.
const kGpu: [string, string, string][] = [
  ["memory_bytes", "Memory", "bytes"], ["compute_capability", "Compute Capability", "text"],
  ["utilization_percent", "GPU Utilization", "percent"], ["sm_efficiency_percent", "Est. SM Efficiency", "percent"],
  ["occupancy_percent", "Est. Achieved Occupancy", "percent"], ["tensor_core_percent", "Kernel Time using Tensor Cores", "percent"],
];

function Summary({ found, at }: { found: OverviewWorker; at: string }) {
  return (
    <Panel title="Run">
      <div class="headline">
        <span class="big"><Figure at={`${at}/average_step_time_us`} value={found.average_step_time_us} unit="us" /></span>
        <span class="muted">a step, on average</span>
      </div>
      <p class="counted"><Said at={`${at}/counted`} text={found.counted} /></p>
      <StretchLine what="Evaluations" at={`${at}/evaluations`} found={found.evaluations} />
      <StretchLine what="Inference" at={`${at}/inferences`} found={found.inferences} />
      <h3>Configuration</h3>
      <dl>
        {Object.entries(found.configuration).map(([title, value]) => (
          <><dt>{title}</dt><dd><Said at={`${at}/configuration/${title}`} text={value} /></dd></>
        ))}
      </dl>
      {found.gpus.map((gpu, i) => <Gpu gpu={gpu} at={`${at}/gpus/${i}`} />)}
      <h3>Cost of recording</h3>
      <dl>
        <dt>Of a step (CUPTI, est.)</dt>
        <dd><Figure at={`${at}/own_cost/cupti_us_per_step`} value={found.own_cost.cupti_us_per_step} unit="us" /></dd>
        <dt>Events</dt>
        <dd><Figure at={`${at}/own_cost/events`} value={found.own_cost.events} unit="count" /></dd>
      </dl>
    </Panel>
  );
}

function StretchLine({ what, at, found }: { what: string; at: string; found?: Stretches }) {
  if (!found) return null;
  return (
    <p class="counted">
      {what}: <Figure at={`${at}/count`} value={found.count} unit="count" />
      {found.batches > 0 && <> of <Figure at={`${at}/batches`} value={found.batches} unit="count" /> batches</>}
      {found.calls > 0 && <> of <Figure at={`${at}/calls`} value={found.calls} unit="count" /> calls</>}, <Figure at={`${at}/us`} value={found.us} unit="us" />{" "}
      (<Figure at={`${at}/percent`} value={found.percent} unit="percent" /> of the trace); no step counts them
    </p>
  );
}

function Gpu({ gpu, at }: { gpu: Record<string, Json>; at: string }) {
  return (
    <>
      <h3>GPU <Figure at={`${at}/device`} value={gpu.device as number} unit="text" />{gpu.name ? <>: <Said at={`${at}/name`} text={String(gpu.name)} /></> : null}</h3>
      <dl>
        {kGpu.filter(([key]) => key in gpu).map(([key, title, unit]) => (
          <><dt>{title}</dt><dd><Figure at={`${at}/${key}`} value={gpu[key] as number | null} unit={unit} /></dd></>
        ))}
      </dl>
    </>
  );
}

function Execution({ found, at }: { found: OverviewWorker; at: string }) {
  const parts = found.execution_summary;
  const slices = parts.map((part, i) => ({
    name: part.category, value: part.us ?? 0, color: categoryColor(part.category),
    figure: <Figure at={`${at}/execution_summary/${i}/us`} value={part.us} unit="us" />,
  }));
  if (parts.length === 0) return <Panel title="Execution summary"><p class="empty">No steps: the time of a step is not known.</p></Panel>;
  return (
    <Panel title="Execution summary">
      <div class="execution">
        <Donut title="An average step" unit="us" slices={slices} legend={false} />
        <table class="plain">
          <thead><tr><th scope="col">Category</th><th scope="col" class="number">Time</th><th scope="col" class="number">Share</th></tr></thead>
          <tbody>
            {parts.map((part, i) => (
              <tr>
                <th scope="row"><Swatch color={categoryColor(part.category)} />{part.category}</th>
                <td class="number"><Figure at={`${at}/execution_summary/${i}/us`} value={part.us} unit="us" /></td>
                <td class="number"><Figure at={`${at}/execution_summary/${i}/percent`} value={part.percent} unit="percent" /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Steps({ worker }: { worker: number }) {
  const { params, set } = useParams();
  const table = useTable(`steps/workers/${worker}`);
  const asTable = params.steps === "table" || params.rows === "all";
  if (!table) return null;
  return (
    <Panel title="Steps" aside={
      <Switch label="Show steps as" value={asTable ? "table" : "bars"} options={[["bars", "Bars"], ["table", "Table"]]}
              onChange={(value) => set({ steps: value === "table" ? "table" : "" })} />}>
      {asTable ? <DataTable table={table} id="step" label="steps" /> : <StepBars table={table} />}
    </Panel>
  );
}

function StepBars({ table }: { table: Table }) {
  // The last row of several is their average.
  const n = table.n > 1 ? table.n - 1 : table.n;
  if (n === 0) return <p class="empty">No steps in this trace.</p>;
  const parts = table.columns.slice(2).map((c) => ({ name: c.key, color: categoryColor(c.key) }));
  return (
    <StackedBars label="Time of each step by category" unit="us" parts={parts}
      names={Array.from({ length: n }, (_, row) => table.text(row, "step"))}
      value={(bar, part) => table.number(bar, parts[part].name)}
      details={(bar) => (
        <>
          <b>Step <Said at={table.figure(bar, "step")} text={table.text(bar, "step")} />: <Figure at={table.figure(bar, "total")} value={table.number(bar, "total")} unit="us" /></b>
          <table class="plain"><tbody>
            {parts.map((part) => {
              const value = table.number(bar, part.name);
              const total = table.number(bar, "total");
              return (
                <tr>
                  <th scope="row"><Swatch color={part.color} />{part.name}</th>
                  <td class="number"><Figure at={table.figure(bar, part.name)} value={value} unit="us" /></td>
                  <td class="number muted">{value !== null && total ? <Derived rule={`percent of ${table.figure(bar, "total")}`} value={(100 * value) / total} unit="percent" /> : ""}</td>
                </tr>
              );
            })}
          </tbody></table>
        </>
      )} />
  );
}

function AdviceList({ worker }: { worker: number }) {
  const [all, setAll] = useState(false);
  const { params } = useParams();
  const found = documents.advise.workers[worker];
  const everything = all || params.rows === "all";
  const shown = found.recommendations.map((one, i) => [one, i] as const).filter(([one]) => everything || !one.minor);
  const more = found.recommendations.length - shown.length;
  return (
    <Panel title="What to change" name="advice">
      {shown.length === 0 && <p class="empty">Nothing found that is worth a change.</p>}
      <ol>{shown.map(([one, i]) => <Card key={one.id} found={one} at={`advise/workers/${worker}/recommendations/${i}`} />)}</ol>
      {more > 0 && <button type="button" onClick={() => setAll(true)}><Derived rule="recommendations that are minor" value={more} unit="count" /> more that would save next to nothing</button>}
      {found.not_known.length > 0 && (
        <details><summary>What is not known</summary><ul class="notes">{found.not_known.map((line, i) => <li><Said at={`advise/workers/${worker}/not_known/${i}`} text={line} /></li>)}</ul></details>
      )}
    </Panel>
  );
}

function Card({ found, at }: { found: Recommendation; at: string }) {
  const { href, params } = useParams();
  return (
    <li class={`card ${found.severity}`}>
      <header>
        <span class="tag">{found.severity}</span>
        <h3><Said at={`${at}/title`} text={found.title} /></h3>
        {found.saving_us_per_step !== null && found.saving_us_per_step > 0 && (
          <span class="saving">may save <Figure at={`${at}/saving_us_per_step`} value={found.saving_us_per_step} unit="us" /> a step</span>
        )}
      </header>
      <p><Said at={`${at}/text`} text={found.text} /></p>
      <p class="fix"><Said at={`${at}/fix`} text={found.fix} /> <a href={found.link} target="_blank" rel="noreferrer noopener">How</a></p>
      {found.evidence.length > 0 && (
        <details open={params.rows === "all"}>
          <summary>Evidence</summary>
          <table class="plain">
            <thead><tr><th scope="col">Event</th><th scope="col" class="number">At</th><th scope="col" class="number">Duration</th><th scope="col" class="number">Thread</th></tr></thead>
            <tbody>
              {found.evidence.map((one, k) => (
                <tr>
                  <td class="event"><a href={href({ view: one.thread === null ? "kernels" : "operators", q: `"${one.name}"` }, false)} title={one.name.slice(0, 2000)}><Said at={`${at}/evidence/${k}/name`} text={one.name} /></a></td>
                  <td class="number"><Figure at={`${at}/evidence/${k}/at_us`} value={one.at_us} unit="us" /></td>
                  <td class="number"><Figure at={`${at}/evidence/${k}/duration_us`} value={one.duration_us} unit="us" /></td>
                  <td class="number">{one.thread === null ? "GPU" : <span class="figure" data-figure={`${at}/evidence/${k}/thread`} data-value={one.thread}>{one.thread}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </li>
  );
}
