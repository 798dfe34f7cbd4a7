// Timeline: all that happened, on a canvas (timeline/), with a search, the details of what is chosen, and the tracks.
import { useEffect, useState } from "preact/hooks";
import { loadTimeline } from "../data/timeline";
import { Said } from "../figure";
import { adviceOf } from "../timeline/advice";
import { sourceOf, zeroOf } from "../timeline/sources";
import { groupsOf } from "../timeline/tracks";
import { Loading, Panel } from "../widgets";
import { rowsOf } from "../worker";
import { Board } from "./timeline_board";
import type { Scene } from "./timeline_hooks";
import { Numbers } from "./timeline_numbers";

export function timelineAbsent(worker: number): string | undefined {
  return rowsOf("track", worker) > 0 ? undefined : "no events in this trace";
}

export function Timeline({ worker }: { worker: number }) {
  const [scene, setScene] = useState<Scene>();
  const [leftOut, setLeftOut] = useState<string[]>([]);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let wanted = true;
    loadTimeline(worker)
      .then(async (timeline) => {
        if (!wanted) return;
        setLeftOut(timeline.left_out);
        const main = await sourceOf(worker);
        const zero = zeroOf(main);
        const groups = groupsOf(main, adviceOf(main, zero));
        if (wanted) setScene({ worker, main, groups, zero });
      })
      .catch((why) => wanted && setFailed(String(why)));
    return () => {
      wanted = false;
    };
  }, [worker]);
  return (
    <>
      {leftOut.length > 0 && (
        <div class="banner" role="note">
          {leftOut.map((line, i) => (
            <p>
              <Said at={`timeline/workers/${worker}/left_out/${i}`} text={line} />
            </p>
          ))}
        </div>
      )}
      {failed ? (
        <p class="empty">The slices could not be read: {failed}</p>
      ) : !scene ? (
        <Loading />
      ) : scene.main.timeline.n === 0 ? (
        <Panel title="Timeline">
          <p class="empty">No slices are in this page.</p>
        </Panel>
      ) : (
        <Board key={worker} scene={scene} />
      )}
      <Numbers worker={worker} />
    </>
  );
}
