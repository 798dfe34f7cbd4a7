// What the search has found, by name: the most frequent first. A click goes to the longest of a name.
import { Derived } from "../figure";
import { byName, type Hits } from "../timeline/search";
import type { Stage } from "../timeline/stage";
import { useMemo, useState } from "preact/hooks";

const kMax = 100; // names shown at first

export function Found({ stage, hits }: { stage: Stage; hits: Hits[] }) {
  const [all, setAll] = useState(false);
  const rows = useMemo(() => hits.flatMap((one) => byName(one).map((row) => ({ ...row, source: one.source }))), [hits]);
  return (
    <>
      <header>
        <h2>Found</h2>
        <span class="muted">
          <Derived rule="names that are found" value={rows.length} unit="count" /> name{rows.length === 1 ? "" : "s"};
          choosing one goes to its longest slice
        </span>
      </header>
      <div class="tl-found" tabIndex={0} role="region" aria-label="Names that are found">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="number">
                Hits
              </th>
              <th scope="col" class="number">
                Time of all
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, all ? rows.length : kMax).map(({ name, count, dur, longest, source }) => (
              <tr>
                <td class="event">
                  <button type="button" class="plain-link" onClick={() => stage.choose({ source, slice: longest })}>
                    <bdi class="name" title={name.slice(0, 2000)}>
                      {name}
                    </bdi>
                  </button>
                </td>
                <td class="number">
                  <Derived rule="hits of the name" value={count} unit="count" />
                </td>
                <td class="number">
                  <Derived rule="time of the hits" value={Math.round(dur) / 1000} unit="us" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > kMax && !all && (
        <button type="button" onClick={() => setAll(true)}>
          All names
        </button>
      )}
    </>
  );
}
