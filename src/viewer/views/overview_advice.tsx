// What to change: a card for each finding of `tprof advise`, with what it would save and where to see it.
import { useState } from "preact/hooks";
import { documents } from "../data/documents";
import type { Recommendation } from "../data/types";
import { Derived, Figure, Said } from "../figure";
import { useParams, type Params } from "../state";
import { timelineHref } from "../timeline/href";
import { Panel } from "../widgets";
import { rowsOf } from "../worker";

const kFew = 3; // lines of what is not known that need not be opened

export function AdviceList({ worker }: { worker: number }) {
  const [all, setAll] = useState(false);
  const { params } = useParams();
  const found = documents.advise.workers[worker];
  const everything = all || params.rows === "all";
  const shown = found.recommendations.map((one, i) => [one, i] as const).filter(([one]) => everything || !one.minor);
  const more = found.recommendations.length - shown.length;
  return (
    <Panel title="What to change" name="advice">
      {shown.length === 0 && <p class="empty">Nothing found that is worth a change.</p>}
      <ol>
        {shown.map(([one, i]) => (
          <Card key={one.id} worker={worker} found={one} at={`advise/workers/${worker}/recommendations/${i}`} />
        ))}
      </ol>
      {more > 0 && (
        <button type="button" onClick={() => setAll(true)}>
          <Derived rule="recommendations that are minor" value={more} unit="count" /> more that would save next to
          nothing
        </button>
      )}
      {found.not_known.length > 0 && (
        <details open={found.not_known.length <= kFew || everything}>
          <summary>What is not known</summary>
          <ul class="notes">
            {found.not_known.map((line, i) => (
              <li>
                <Said at={`advise/workers/${worker}/not_known/${i}`} text={line} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

// Where all of its name have a row; copies have none.
function inTable({ name, thread }: Recommendation["evidence"][0]): Params | undefined {
  if (thread === null && /^Mem(cpy|set) /.test(name)) return undefined;
  return { view: thread === null ? "kernels" : "operators", q: `"${name}"` };
}

// To the event itself, among all others.
function EvidenceLink({ worker, one }: { worker: number; one: Recommendation["evidence"][0] }) {
  const { href } = useParams();
  if (rowsOf("track", worker) === 0) return null;
  const wanted = timelineHref({ name: one.name, at: one.at_us, thread: one.thread });
  return (
    <>
      <a href={href(wanted, false)} aria-label={`In the timeline: ${one.name.slice(0, 200)}`}>
        in the timeline
      </a>{" "}
    </>
  );
}

function Card({ worker, found, at }: { worker: number; found: Recommendation; at: string }) {
  const { href, params } = useParams();
  const tableHref = (one: Recommendation["evidence"][0]) => {
    const table = inTable(one);
    return table && href(table, false);
  };
  return (
    <li class={`card ${found.severity}`}>
      <header>
        <span class="tag">{found.severity}</span>
        <h3>
          <Said at={`${at}/title`} text={found.title} />
        </h3>
        {found.saving_us_per_step !== null && found.saving_us_per_step > 0 && (
          <span class="saving">
            may save <Figure at={`${at}/saving_us_per_step`} value={found.saving_us_per_step} unit="us" /> a step
          </span>
        )}
      </header>
      <p>
        <Said at={`${at}/text`} text={found.text} />
      </p>
      <p class="fix">
        <Said at={`${at}/fix`} text={found.fix} />{" "}
        <a href={found.link} target="_blank" rel="noreferrer noopener">
          Documentation
        </a>
      </p>
      {found.evidence.length > 0 && (
        <details open={params.rows === "all"}>
          <summary>Evidence</summary>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col" class="number">
                  At
                </th>
                <th scope="col" class="number">
                  Duration
                </th>
                <th scope="col" class="number">
                  Thread
                </th>
              </tr>
            </thead>
            <tbody>
              {found.evidence.map((one, k) => (
                <tr>
                  <td class="event">
                    <a href={tableHref(one)} title={one.name.slice(0, 2000)}>
                      <Said at={`${at}/evidence/${k}/name`} text={one.name} />
                    </a>
                  </td>
                  <td class="number">
                    <EvidenceLink worker={worker} one={one} />
                    <Figure at={`${at}/evidence/${k}/at_us`} value={one.at_us} unit="us" />
                  </td>
                  <td class="number">
                    <Figure at={`${at}/evidence/${k}/duration_us`} value={one.duration_us} unit="us" />
                  </td>
                  <td class="number">
                    {one.thread === null ? (
                      "GPU"
                    ) : (
                      <span class="figure" data-figure={`${at}/evidence/${k}/thread`} data-value={one.thread}>
                        {one.thread}
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </li>
  );
}
