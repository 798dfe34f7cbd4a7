// What was run: the average step, what was counted, the machine's GPUs, and what recording cost.
import type { Json, OverviewWorker, Stretches } from "../data/types";
import { Figure, Said } from "../figure";
import { Panel } from "../widgets";

export function Summary({ found, at }: { found: OverviewWorker; at: string }) {
  return (
    <Panel title="Run">
      {found.average_step_time_us !== null && (
        <div class="headline">
          <span class="big">
            <Figure at={`${at}/average_step_time_us`} value={found.average_step_time_us} unit="us" />
          </span>
          <span class="muted">
            a step, on average
            {found.median_step_time_us !== null && (
              <>
                ; median <Figure at={`${at}/median_step_time_us`} value={found.median_step_time_us} unit="us" />
              </>
            )}
          </span>
        </div>
      )}
      <p class="counted">
        <Said at={`${at}/counted`} text={found.counted} />
      </p>
      {found.other && (
        <p class="counted">
          Other: <Figure at={`${at}/other/percent`} value={found.other.percent} unit="percent" /> of it in{" "}
          <Said at={`${at}/other/place`} text={found.other.place} />
        </p>
      )}
      <StretchLine what="Evaluations" at={`${at}/evaluations`} found={found.evaluations} />
      <StretchLine what="Inference" at={`${at}/inferences`} found={found.inferences} />
      <StretchLine what="After the loop" at={`${at}/after_loop`} found={found.after_loop} />
      <StretchLine what="Between the steps" at={`${at}/between`} found={found.between} />
      <StretchLine what="Left over" at={`${at}/left_over`} found={found.left_over} />
      <h3>Configuration</h3>
      <dl>
        {Object.entries(found.configuration).map(([title, value]) => (
          <>
            <dt>{title}</dt>
            <dd>
              <Said at={`${at}/configuration/${title}`} text={value} />
            </dd>
          </>
        ))}
      </dl>
      {found.gpus.map((gpu, i) => (
        <Gpu gpu={gpu} at={`${at}/gpus/${i}`} />
      ))}
      <h3>Cost of recording</h3>
      <dl>
        {(found.gpus.length > 0 || found.own_cost.cupti_us_per_step !== null) && (
          <>
            <dt>Of a step (CUPTI, est.)</dt>
            <dd>
              <Figure at={`${at}/own_cost/cupti_us_per_step`} value={found.own_cost.cupti_us_per_step} unit="us" />
            </dd>
          </>
        )}
        <dt>Events</dt>
        <dd>
          <Figure at={`${at}/own_cost/events`} value={found.own_cost.events} unit="count" />
        </dd>
      </dl>
    </Panel>
  );
}

function StretchLine({ what, at, found }: { what: string; at: string; found?: Stretches }) {
  if (!found) return null;
  return (
    <p class="counted">
      {what}: <Figure at={`${at}/count`} value={found.count} unit="count" />
      {found.batches > 0 && (
        <>
          {" "}
          of <Figure at={`${at}/batches`} value={found.batches} unit="count" /> batches
        </>
      )}
      {found.calls > 0 && (
        <>
          {" "}
          of <Figure at={`${at}/calls`} value={found.calls} unit="count" /> calls
        </>
      )}
      , <Figure at={`${at}/us`} value={found.us} unit="us" /> (
      <Figure at={`${at}/percent`} value={found.percent} unit="percent" /> of the trace); no step counts them
    </p>
  );
}

// Titles and units of overview's "gpus", as the plugin names them.
const kGpu: [string, string, string][] = [
  ["memory_bytes", "Memory", "bytes"],
  ["compute_capability", "Compute Capability", "text"],
  ["utilization_percent", "GPU Utilization", "percent"],
  ["sm_efficiency_percent", "Est. SM Efficiency", "percent"],
  ["occupancy_percent", "Est. Achieved Occupancy", "percent"],
  ["tensor_core_percent", "Kernel Time using Tensor Cores", "percent"],
];

function Gpu({ gpu, at }: { gpu: Record<string, Json>; at: string }) {
  return (
    <>
      <h3>
        GPU <Figure at={`${at}/device`} value={gpu.device as number} unit="text" />
        {gpu.name ? (
          <>
            : <Said at={`${at}/name`} text={String(gpu.name)} />
          </>
        ) : null}
      </h3>
      <dl>
        {kGpu
          .filter(([key]) => key in gpu)
          .map(([key, title, unit]) => (
            <>
              <dt>{title}</dt>
              <dd>
                <Figure at={`${at}/${key}`} value={gpu[key] as number | null} unit={unit} />
              </dd>
            </>
          ))}
      </dl>
    </>
  );
}
